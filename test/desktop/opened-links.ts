import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface OpenedLinks extends AsyncDisposable {
  /** For the environment of the app. */
  readonly PATH: string
  /** The links that were opened since the last `forget`. */
  all(): Promise<string[]>
  forget(): Promise<void>
}

/** Replaces the program that opens links for the user on Linux, `xdg-open`: it stores their addresses for the test. */
export async function keepOpenedLinks(): Promise<OpenedLinks> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-test-links-'))
  const list = join(folder, 'opened')
  await writeFile(join(folder, 'xdg-open'), `#!/bin/sh\necho "$1" >> '${list}'\n`)
  await chmod(join(folder, 'xdg-open'), 0o755)
  // Searched for before `xdg-open` is called.
  await writeFile(join(folder, 'x-www-browser'), '#!/bin/sh\n')
  await chmod(join(folder, 'x-www-browser'), 0o755)
  return {
    PATH: `${folder}:${process.env['PATH'] ?? ''}`,
    all: async () => (await readFile(list, 'utf8').catch(() => '')).split('\n').filter(Boolean),
    forget: () => rm(list, { force: true }),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  }
}
