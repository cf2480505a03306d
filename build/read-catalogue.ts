import { readdir, stat } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'

/** The texts of one feature in one language as written: ICU messages by key. */
export type Catalogue = Readonly<Record<string, string>>

/** Mark in the query of an import: with it, a test runner too returns the file as written. */
export const AS_WRITTEN = 'written'

/** Reads `renderer/words/<language>/<feature>.ts`. A file that has changed since is evaluated again. */
export async function readCatalogue(path: string): Promise<Catalogue> {
  const { mtimeMs } = await stat(path)
  const { default: messages } = (await import(
    /* @vite-ignore */ `${pathToFileURL(path).href}?${AS_WRITTEN}=${mtimeMs}&.ts`
  )) as {
    default: Catalogue
  }
  return messages
}

/** The names of the features that have texts in a language, sorted. @param folder `renderer/words` */
export async function featuresOf(folder: URL, language: string): Promise<string[]> {
  return (await readdir(new URL(`${language}/`, folder))).map(name => name.replace(/\.ts$/, '')).toSorted()
}
