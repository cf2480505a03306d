import { z } from 'zod'
import { TextOf, TextUpTo } from '../plain-text.ts'
import { isFilePath, utf8Length } from './file-paths.ts'

/** Largest number of dotfiles of one user. */
export const MOST_DOTFILES = 100
/** Largest size of all dotfiles of a user together: content in UTF-8. */
export const MOST_DOTFILE_BYTES = 64 * 1024
export const MOST_SCRIPT_BYTES = 64 * 1024
const LONGEST_PATH = 255

/** Whether a path is allowed for a dotfile: relative to the home, with a first name that begins with a dot. */
export function isDotfilePath(path: string): boolean {
  return path.startsWith('.') && isFilePath(path) && utf8Length(path) <= LONGEST_PATH && /^\P{Cc}*$/u.test(path)
}

const Content = (most: number) =>
  TextUpTo(most, `must have at most ${most / 1024} KiB`)
    .refine(text => text.isWellFormed() && !text.includes('\0'), { error: 'must be text without NUL characters' })
    .refine(text => utf8Length(text) <= most, { error: `must have at most ${most / 1024} KiB` })

const DotfilePath = TextUpTo(LONGEST_PATH)
  .refine(isDotfilePath, {
    error: 'must be a path in the home that begins with a dot, such as .bashrc or .config/git/config',
  })
  .describe('Relative to the home of the session, for example `.bashrc`.')

/** A file that is put into the home of each new session of its user. */
export const DotfileSpec = z
  .strictObject({
    path: DotfilePath,
    content: Content(MOST_DOTFILE_BYTES),
    mode: TextOf(3, /^[4-7][0-7]{2}$/, 'must have three octal digits, and the owner may read the file')
      .default('644')
      .describe('Permissions as octal digits, for example `600`.'),
  })
  .meta({ id: 'DotfileSpec' })
export type DotfileSpec = z.infer<typeof DotfileSpec>

export const Dotfile = z
  .object({
    path: z.string(),
    content: z.string(),
    mode: z.string(),
    changedAt: z.iso.datetime(),
  })
  .meta({ id: 'Dotfile' })
export type Dotfile = z.infer<typeof Dotfile>

export const BootstrapScriptSpec = z
  .strictObject({ script: Content(MOST_SCRIPT_BYTES).describe('Bash script; an empty one removes it.') })
  .meta({ id: 'BootstrapScriptSpec' })

/** The script that runs once when a session of its user starts, before apps do. */
export const BootstrapScript = z
  .object({ script: z.string().describe('Empty if there is none.'), changedAt: z.iso.datetime().nullable() })
  .meta({ id: 'BootstrapScript' })
export type BootstrapScript = z.infer<typeof BootstrapScript>

/** For the query of a removal. */
export const DotfileName = z.strictObject({ path: TextUpTo(LONGEST_PATH).min(1) })
