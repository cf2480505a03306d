import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { parseJson } from '#base/parse-json'
import { deepLinkOf } from '../windows/deep-link.ts'

/** The profile that has begun a sign-in in the browser. Null is the profile without a name. */
const Begun = z.object({ profile: z.string().nullable(), at: z.number() })

/** Longest time that a provider's page may be open. */
const VALID_MS = 30 * 60_000

export interface SignInOwner {
  /** Call when this profile has sent the user to the browser. */
  begun(): Promise<void>
  /** The profile that a sign-in link among these arguments belongs to; undefined if it is this one, or if there is no such link. */
  otherProfile(argv: readonly string[]): { readonly profile: string | undefined } | undefined
}

/**
 * The browser hands a sign-in back by `berth://sign-in/<code>`, and the operating system gives that link to the profile without a name. It
 * belongs to the one that began the sign-in, which alone has the secret for the code.
 */
export function createSignInOwner(file: string, profile: string | undefined, now = Date.now): SignInOwner {
  return {
    async begun() {
      await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
      await writeFile(file, JSON.stringify({ profile: profile ?? null, at: now() }), { mode: 0o600 })
    },
    otherProfile(argv) {
      if (deepLinkOf(argv)?.startsWith('/sign-in?') !== true) return undefined
      const begun = Begun.safeParse(parseJson(read(file)))
      if (!begun.success || now() - begun.data.at > VALID_MS) return undefined
      const owner = begun.data.profile ?? undefined
      return owner === profile ? undefined : { profile: owner }
    },
  }
}

/** Synchronous: a process started with the link must know the answer before it becomes an app. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
