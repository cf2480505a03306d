import { isSameText, otherForms } from '#base/normal-forms'
import { isAppError } from '#manager/contract'
import { type Directory } from '../storage/beneath.ts'
import { componentsOf } from '../storage/file-names.ts'

/**
 * Finds existing names for names that a client wants to create: a name that differs from an existing one only in its Unicode form counts as
 * that name. So a file from a Mac replaces the file with the typed name, or causes the question about it, and there are no two files that
 * look the same. An exact match takes precedence. SFTP, and sessions, keep the bytes of names.
 *
 * An existing name is found in NFC and in NFD, but not if it mixes the two.
 */

/** @returns for each name the existing one, or the given name */
export async function namesThere(directory: Directory, names: readonly string[]): Promise<string[]> {
  const forms = names.map(name => otherForms(name))
  const asked = [...new Set(names.flatMap((name, index) => (forms[index]?.length ? [name, ...forms[index]] : [])))]
  if (asked.length === 0) return [...names]
  const states = await directory.lstatMany(asked)
  const there = new Set(asked.filter((_name, index) => states[index]))
  return names.map((name, index) => [name, ...(forms[index] ?? [])].find(form => there.has(form)) ?? name)
}

/** @returns the existing name, or the given one */
export async function nameThere(directory: Directory, name: string): Promise<string> {
  const forms = otherForms(name)
  if (forms.length === 0) return name
  for (const form of [name, ...forms]) {
    const found = await directory.lstat(form).catch((error: unknown) => {
      if (isAppError(error)) return undefined
      throw error
    })
    if (found) return form
  }
  return name
}

/** The path with each of its names as it exists, as far as it exists. Errors are left to the user of the path. */
export async function pathThere(top: Directory, path: string): Promise<string> {
  const names = componentsOf(path)
  if (names.every(name => otherForms(name).length === 0)) return path
  const known: string[] = []
  let here = await top.walk('')
  try {
    for (const name of names) {
      known.push(await nameThere(here, name))
      if (known.length === names.length) break
      const next = await here.enter(known.at(-1) ?? name)
      await here[Symbol.asyncDispose]()
      here = next
    }
  } catch (error) {
    if (!isAppError(error)) throw error
  } finally {
    await here[Symbol.asyncDispose]()
  }
  return [...known, ...names.slice(known.length)].join('/')
}

/**
 * The name for an entry that is moved: the existing one, unless that is the entry itself, whose name may change its form. @param from the
 * entry, `undefined` if it lies in another directory
 */
export async function nameToTake(target: Directory, name: string, from: string | undefined): Promise<string> {
  const there = await nameThere(target, name)
  return there === from && isSameText(there, name) ? name : there
}
