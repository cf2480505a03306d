import { randomUUID } from 'node:crypto'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

export interface SignInPage extends AsyncDisposable {
  /** Writes the page that redirects to this link. @returns its file URL */
  write(link: string): Promise<string>
}

const KEPT_MS = 60_000

/**
 * Passes the sign-in link to a browser as a file instead of an argument.
 *
 * Threat model: the link makes its holder the administrator once, and every user of the computer can read the arguments of
 * programs. So the browser gets the name of a file that only its owner can read. The file stays for a minute, never longer than
 * this process, and the link works once.
 */
export function createSignInPage(directory: string, keptMs = KEPT_MS): SignInPage {
  const path = join(directory, 'sign-in.html')
  let removal: NodeJS.Timeout | undefined
  return {
    async write(link) {
      // A new file, because an existing one would keep its mode.
      const fresh = `${path}.${randomUUID()}`
      await writeFile(fresh, pageTo(link), { mode: 0o600, flag: 'wx' })
      await rename(fresh, path)
      clearTimeout(removal)
      // The link has ended by then: a page that cannot be removed is no reason for berth up to end.
      removal = setTimeout(() => void rm(path, { force: true }).catch(() => undefined), keptMs)
      removal.unref()
      return pathToFileURL(path).href
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(removal)
      await rm(path, { force: true })
    },
  }
}

function pageTo(link: string): string {
  const href = link.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
  return [
    '<!doctype html>',
    '<meta charset="utf-8">',
    '<meta name="referrer" content="no-referrer">',
    `<meta http-equiv="refresh" content="0; url=${href}">`,
    '<title>Berth</title>',
    `<p><a href="${href}">Sign in to Berth</a></p>`,
    '',
  ].join('\n')
}
