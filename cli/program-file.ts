import { extname, resolve } from 'node:path'

/** Folder that contains all programs: the clone, or the installed package. */
export const ROOT = resolve(import.meta.dirname, '..')

/**
 * Path of one of our programs, to be run by Node: TypeScript in a clone, JavaScript in a package, because Node strips no types below
 * `node_modules`.
 *
 * @param name path below the root without its extension, e.g. `manager/main`
 */
export const programFile = (name: string): string => resolve(ROOT, name + extname(import.meta.filename))
