// Exits with code 3 and a word on stderr before it reads anything.
process.stderr.write('cannot open the database\n');
process.exitCode = 3;
