const POSIX_VARIABLES = [
  'HOME',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'LC_MESSAGES',
  'LOGNAME',
  'PATH',
  'SHELL',
  'TERM',
  'TMPDIR',
  'TZ',
  'USER',
  'XDG_CACHE_HOME',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_RUNTIME_DIR',
  'XDG_STATE_HOME',
];

const WINDOWS_VARIABLES = [
  'ALLUSERSPROFILE',
  'APPDATA',
  'COMSPEC',
  'HOMEDRIVE',
  'HOMEPATH',
  'LOCALAPPDATA',
  'NUMBER_OF_PROCESSORS',
  'OS',
  'PATH',
  'PATHEXT',
  'PROCESSOR_ARCHITECTURE',
  'PROGRAMDATA',
  'PROGRAMFILES',
  'PROGRAMFILES(X86)',
  'SYSTEMDRIVE',
  'SYSTEMROOT',
  'TEMP',
  'TMP',
  'USERDOMAIN',
  'USERNAME',
  'USERPROFILE',
  'WINDIR',
];

/**
 * The variables of this process that a server gets without being asked for: who the user is, where programs and
 * files are found, which language and terminal. None of them usually holds a secret; API keys, proxies with passwords
 * and the settings of the host's own runtime (`NODE_OPTIONS`) stay behind.
 *
 * On POSIX: `HOME`, `LANG`, `LC_ALL`, `LC_CTYPE`, `LC_MESSAGES`, `LOGNAME`, `PATH`, `SHELL`, `TERM`, `TMPDIR`, `TZ`,
 * `USER` and the `XDG_*` folders. On Windows: the user's and the system's folders, `PATH`, `PATHEXT`, `COMSPEC`, `OS`
 * and the processor's two variables.
 */
export function safeEnvironment(): Record<string, string> {
  const names = process.platform === 'win32' ? WINDOWS_VARIABLES : POSIX_VARIABLES;
  const safe: Record<string, string> = {};
  for (const name of names) {
    const value = process.env[name];
    // A value like this is a shell function, which some shells run when they read it.
    if (value !== undefined && !value.startsWith('()')) safe[name] = value;
  }
  return safe;
}

/** The environment of a server: the safe subset, or everything, and over it what the caller gives. */
export function serverEnvironment(
  own: Readonly<Record<string, string>> = {},
  inheritAll = false,
): NodeJS.ProcessEnv {
  const environment: NodeJS.ProcessEnv = inheritAll ? { ...process.env } : safeEnvironment();
  if (process.platform === 'win32') {
    // Names are case-insensitive there: `Path` must replace `PATH`, not stand beside it.
    const given = new Set(Object.keys(own).map((name) => name.toUpperCase()));
    for (const name of Object.keys(environment)) {
      if (given.has(name.toUpperCase())) delete environment[name];
    }
  }
  return { ...environment, ...own };
}
