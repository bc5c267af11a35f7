const FIELD = /<input[^>]* name="([^"]*)"(?:[^>]* value="([^"]*)")?/g;

/**
 * What a person with a browser would do: follows redirects with cookies, and sends every form that comes, its fields
 * filled in. Returns the last page.
 */
export async function browse(start: URL): Promise<{ url: URL; status: number; text: string }> {
  const cookies = new Map<string, string>();
  let url = start;
  let form: URLSearchParams | undefined;
  for (let step = 0; step < 20; step++) {
    const response = await fetch(url, {
      method: form ? 'POST' : 'GET',
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form && { body: form }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    const text = await response.text();
    const location = response.headers.get('location');
    const action = /<form[^>]* action="([^"]*)"/.exec(text)?.[1];
    if (location !== null) {
      url = new URL(location, url);
      form = undefined;
    } else if (action !== undefined) {
      url = new URL(action, url);
      form = new URLSearchParams();
      for (const [, name = '', value = 'ann'] of text.matchAll(FIELD)) form.append(name, value);
    } else {
      return { url, status: response.status, text };
    }
  }
  throw new Error(`The pages from ${start} do not end`);
}
