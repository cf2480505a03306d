import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parseJson } from '#base/parse-json'
import { AppError } from '#manager/contract/light'
import { configDirectory } from './directories.ts'
import { replaceFile } from './replace-file.ts'

/**
 * The sign-in of the CLI.
 *
 * Threat model: the token is as good as the password until it expires, so the file is readable by its owner only (0600 in
 * a 0700 directory) and the token is never printed or put on a command line. Root and backups can read it; `berth logout`
 * ends it on the server. Without TLS it is sent to this computer only if Berth's user listens there.
 */
export interface SignIn {
  /** A URL. */
  readonly endpoint: string
  readonly userId: string
  readonly email: string
  readonly token: string
  readonly expiresAt: string
  /** User id of the Berth that runs on this computer, if that is neither this user nor root: see `#proxy/listener-user`. */
  readonly listener?: number
}

function isSignIn(value: unknown): value is SignIn {
  if (typeof value !== 'object' || value === null) return false
  const { endpoint, userId, email, token, expiresAt, listener } = value as Partial<Record<keyof SignIn, unknown>>
  return (
    typeof endpoint === 'string' &&
    URL.canParse(endpoint) &&
    [userId, email, token, expiresAt].every(text => typeof text === 'string') &&
    (listener === undefined || Number.isInteger(listener))
  )
}

const fileOf = (directory: string) => join(directory, 'sign-in.json')

/** @throws AppError `not_signed_in` if there is none */
export async function readSignIn(directory = configDirectory()): Promise<SignIn> {
  const text = await readFile(fileOf(directory), 'utf8').catch((error: unknown) => {
    throw new AppError('not_signed_in', { why: 'Run `berth login --endpoint URL --email YOU`.' }, { cause: error })
  })
  const found = parseJson(text)
  if (!isSignIn(found))
    throw new AppError('not_signed_in', { why: `${fileOf(directory)} is damaged. Run \`berth login\` again.` })
  return found
}

export async function writeSignIn(signIn: SignIn, directory = configDirectory()): Promise<void> {
  await replaceFile(fileOf(directory), `${JSON.stringify(signIn, null, 2)}\n`)
}

export async function removeSignIn(directory = configDirectory()): Promise<void> {
  await rm(fileOf(directory), { force: true })
}
