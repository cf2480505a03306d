import { addTexts } from './language-choice.ts'

let added: Promise<void> | undefined

/** Adds the texts of administration in the other languages, once; after a failure the next call tries again. */
export function addAdminTexts(): Promise<void> {
  added ??= addTexts({ ko: () => import('./administration-in-korean.ts') }).catch((error: unknown) => {
    added = undefined
    throw error
  })
  return added
}
