import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { AppError, parseJson } from '#manager/contract'
import { configDirectory } from './directories.ts'

/**
 * The sign-in of the CLI.
 *
 * Threat model: the token is as good as the password until it expires, so the file is readable by its owner only (0600 in
 * a 0700 directory) and the token is never printed or put on a command line. Root and backups can read it; `berth logout`
 * ends it on the server.
 */
export const SignIn = z.object({
  endpoint: z.url(),
  userId: z.string(),
  email: z.string(),
  token: z.string(),
  expiresAt: z.string(),
})
export type SignIn = z.infer<typeof SignIn>

const fileOf = (directory: string) => join(directory, 'sign-in.json')

/** @throws AppError `not_signed_in` if there is none */
export async function readSignIn(directory = configDirectory()): Promise<SignIn> {
  const text = await readFile(fileOf(directory), 'utf8').catch((error: unknown) => {
    throw new AppError(
      'not_signed_in',
      { why: '`berth login --endpoint URL --email YOU` does that.' },
      { cause: error },
    )
  })
  const parsed = SignIn.safeParse(parseJson(text))
  if (!parsed.success)
    throw new AppError('not_signed_in', { why: `${fileOf(directory)} is damaged; run \`berth login\` again.` })
  return parsed.data
}

export async function writeSignIn(signIn: SignIn, directory = configDirectory()): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const part = `${fileOf(directory)}.${process.pid}`
  await writeFile(part, `${JSON.stringify(signIn, null, 2)}\n`, { mode: 0o600 })
  await chmod(part, 0o600)
  await rename(part, fileOf(directory))
}

export async function removeSignIn(directory = configDirectory()): Promise<void> {
  await rm(fileOf(directory), { force: true })
}
