import { z } from 'zod'
import { TextUpTo } from '../plain-text.ts'
import { UserId } from '../ids.ts'
import { type Role, type UserSpec } from './users.ts'

/** Largest number of rows of one request: a client sends a longer file in several. */
export const MAX_IMPORT_ROWS = 200

/** A row of a file of users. Any text is accepted here, so that a wrong row gets its own answer without refusing the others. */
export const UserImportRow = z
  .strictObject({
    email: TextUpTo(1000),
    name: TextUpTo(1000).optional().describe('Default: the part of the address before the @.'),
    role: TextUpTo(1000).optional(),
    domain: TextUpTo(1000).optional(),
    groups: z.array(TextUpTo(1000)).max(200).optional(),
  })
  .meta({ id: 'UserImportRow' })
export type UserImportRow = z.infer<typeof UserImportRow>

export const UserImportSpec = z
  .strictObject({
    rows: z.array(UserImportRow).min(1).max(MAX_IMPORT_ROWS),
    dryRun: z
      .boolean()
      .default(false)
      .describe('Check every row, and create nothing. Addresses of accounts that you do not administer count as free.'),
    mail: z
      .boolean()
      .default(false)
      .describe(
        'Mail each new user the link to set a password, instead of returning the links. Only superadmins may have links of people whom mail reaches: those of other admins are mailed anyway.',
      ),
  })
  .meta({ id: 'UserImportSpec' })
export type UserImportSpec = z.infer<typeof UserImportSpec>

/** `created`: an account was created, or would be in a dry run. `exists`: an account has this address, and was not changed. */
export const UserImportOutcome = z
  .object({
    email: z.string(),
    outcome: z.enum(['created', 'exists', 'refused']),
    id: UserId.nullable().describe('The new account; null in a dry run.'),
    link: z
      .object({ url: z.string(), expiresAt: z.iso.datetime() })
      .nullable()
      .describe('One-time link to set the password, for the admin to pass on. Only this reply shows it.'),
    error: z
      .object({ code: z.string(), message: z.string(), detail: z.record(z.string(), z.unknown()) })
      .nullable()
      .describe('Why the row was refused.'),
  })
  .meta({ id: 'UserImportOutcome' })
export type UserImportOutcome = z.infer<typeof UserImportOutcome>

export const UserImportReply = z.object({
  items: z.array(UserImportOutcome).describe('In the order of the rows.'),
  dryRun: z.boolean(),
})
export type UserImportReply = z.infer<typeof UserImportReply>

/** Global of browsers and Node alike; declared because their types are not visible here. */
declare const TextDecoder: new (encoding: string, options: { fatal: true }) => { decode(bytes: Uint8Array): string }

/**
 * Text of a file of users: UTF-8, or UTF-16 with a byte order mark, as spreadsheets save "Unicode text". Other encodings cannot be
 * distinguished.
 *
 * @returns undefined for a file in another encoding: its names would come out wrong
 */
export function userFileText(bytes: Uint8Array): string | undefined {
  const [first, second] = bytes
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Column names of a file, in any letter case, including those of the console's own export. */
const COLUMNS = {
  email: ['email', 'e-mail', 'e-mail address', 'mail'],
  name: ['name', 'full name'],
  role: ['role'],
  domain: ['domain'],
  groups: ['projects', 'project', 'groups', 'group'],
} as const satisfies Record<keyof UserImportRow, readonly string[]>

/** Texts of the console's export that mean a role. */
const ROLE_NAMES: Readonly<Record<string, Role>> = { 'domain administrator': 'domain_admin' }

/**
 * Reads the cells of a CSV file whose first row names the columns. Only the column of e-mail addresses is required; unknown columns are
 * ignored. Projects are separated by semicolons or commas.
 *
 * @param cells of every line, the first with the names of the columns
 * @returns undefined if no column has the e-mail addresses
 */
export function userImportRows(cells: readonly (readonly string[])[]): UserImportRow[] | undefined {
  const [head = [], ...lines] = cells
  const names = head.map(name =>
    name
      .replace(/^\uFEFF/, '')
      .trim()
      .toLowerCase(),
  )
  const indexOf = (key: keyof typeof COLUMNS) => names.findIndex(name => COLUMNS[key].some(known => known === name))
  const email = indexOf('email')
  if (email < 0) return undefined
  const [name, role, domain, groups] = [indexOf('name'), indexOf('role'), indexOf('domain'), indexOf('groups')]
  return lines
    .map(line => line.map(cell => cell.trim()))
    .filter(line => line.some(cell => cell !== ''))
    .map(line => {
      const projects = (line[groups] ?? '').split(/[;,]/).map(project => project.trim())
      return {
        email: line[email] ?? '',
        ...filled('name', line[name]),
        ...filled('role', roleOf(line[role])),
        ...filled('domain', line[domain]),
        ...(projects.some(Boolean) ? { groups: projects.filter(Boolean) } : {}),
      }
    })
}

/** @returns the row as a request for an account, not checked yet; the password comes later */
export function userSpecOf({ email, name, ...row }: UserImportRow): Omit<z.input<typeof UserSpec>, 'password'> {
  return { ...row, email, name: name ?? email.split('@')[0] ?? email } as Omit<z.input<typeof UserSpec>, 'password'>
}

const filled = <K extends string>(key: K, value: string | undefined) =>
  (value === undefined || value === '' ? {} : { [key]: value }) as Partial<Record<K, string>>

function roleOf(text = ''): string {
  const lower = text.toLowerCase()
  return ROLE_NAMES[lower] ?? lower
}
