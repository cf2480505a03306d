import { type Command, Option } from 'commander'
import { defined } from '#base/defined'
import {
  type ApiClient,
  AppError,
  MAX_IMPORT_ROWS,
  Role,
  type User,
  type UserChange,
  type UserImportOutcome,
  type UserImportRow,
  userFileText,
  userImportRows,
  type SentLink,
} from '#manager/contract'
import { counted } from '../counted.ts'
import { connect } from '../config/connect.ts'
import { readInputFile } from '../input-file.ts'
import { createOutput, table } from '../output.ts'
import { promptSecret, readStandardInput } from '../secret-input.ts'
import { adminOf } from './admin.ts'
import { everyPage } from './every-page.ts'
import { findGroup, findUserId } from './find-user.ts'
import { age } from './text.ts'

interface ImportFlags {
  readonly dryRun?: boolean
  readonly mail?: boolean
  readonly json?: boolean
}

interface UserFlags {
  name?: string
  role?: Role
  domain?: string
  project?: string
  projects?: string[]
  search?: string
  all?: boolean
  inactive?: boolean
  password?: boolean
  passwordStdin?: boolean
  description?: string
  policy?: string
  requirePasswordChange?: boolean
  json?: boolean
}

/**
 * Adds `berth admin user …`, for superadmins and the admins of a domain. Passwords are never arguments: other users can see
 * those.
 */
export function addUserCommands(program: Command): void {
  const admin = adminOf(program)
  const user = admin.command('user').description('User accounts. Accounts can be deactivated, but not deleted.')

  user
    .command('ls')
    .description('List the active users; see also --all and --inactive.')
    .option('--all', 'also inactive users')
    .option('--inactive', 'only inactive users')
    .option('--domain <name>', 'only users of this domain')
    .option('--project <project>', 'only members of this project (name, domain/name or id)')
    .addOption(new Option('--role <role>', 'only users with this role').choices(Role.options))
    .option('--search <text>', 'only users whose e-mail address or name has this text')
    .option('--json', 'print JSON')
    .action(async ({ json = false, ...flags }: UserFlags) => {
      const { api } = await connect()
      const items = await listUsers(api, flags)
      createOutput(json).data(items, () => userTable(items))
    })

  user
    .command('unlink <user>')
    .description('Unlink a user (address or id) from all sign-in providers; sign-ins end. For superadmins.')
    .action(async (who: string) => {
      const { api } = await connect()
      const { removed } = await api.removeUserIdentities({ params: { id: await findUserId(api, who) } })
      createOutput(false).note(removed === 0 ? 'The user was not linked.' : `Links removed: ${removed}.`)
    })

  withSettings(
    user
      .command('create <email>')
      .description('Create a user. The password is asked for, or read from standard input.'),
  )
    .option('--name <name>', 'name (default: the part of the address before the @)')
    .option('--password-stdin', 'read the password from standard input')
    .action(async (email: string, { json = false, name, passwordStdin, ...flags }: UserFlags) => {
      const { api } = await connect()
      const password = await readPassword(passwordStdin)
      const body = { ...changeOf(flags), email, name: name ?? email.split('@')[0] ?? email, password }
      const created = await api.createUser({ body })
      createOutput(json).data(created, () => userTable([created]))
    })

  withSettings(
    user
      .command('update <user>')
      .description('Change a user, given by e-mail address or id. Settings that you leave out stay.'),
  )
    .option('--name <name>', 'a new name')
    .option('--password', 'ask for a new password and end every sign-in of the user')
    .option('--password-stdin', 'read the new password from standard input')
    .action(async (reference: string, { json = false, password, passwordStdin, ...flags }: UserFlags) => {
      const { api } = await connect()
      const id = await findUserId(api, reference)
      const body = {
        ...changeOf(flags),
        ...(password || passwordStdin ? { password: await readPassword(passwordStdin) } : {}),
      }
      const changed = await api.updateUser({ params: { id }, body })
      const output = createOutput(json)
      output.data(changed, () => userTable([changed]))
      if (changed.passwordLink) output.note(endedText(changed.passwordLink))
    })

  user
    .command('import <file>')
    .description(
      'Create the users of a CSV file (`-`: standard input) with the columns email, name, role, domain and projects. ' +
        'Each gets a link to set a password. Accounts that exist are not changed.',
    )
    .option('--dry-run', 'only check the file, and create nothing')
    .option('--mail', 'mail the links instead of printing them')
    .option('--json', 'print JSON')
    .action(async (file: string, { json = false, dryRun = false, mail = false }: ImportFlags) => {
      const rows = await readRows(file)
      const { api } = await connect()
      const items: UserImportOutcome[] = []
      try {
        for (let first = 0; first < rows.length; first += MAX_IMPORT_ROWS) {
          const body = { rows: rows.slice(first, first + MAX_IMPORT_ROWS), dryRun, mail }
          items.push(...(await api.importUsers({ body })).items)
        }
      } finally {
        // Print the outcomes even if a later part failed: nothing else shows the links of the accounts that were made.
        if (items.length > 0) createOutput(json).data({ items, dryRun }, () => importTable(items, dryRun))
      }
      const refused = items.filter(({ outcome }) => outcome === 'refused').length
      if (refused > 0)
        throw new AppError('bad_request', { why: `${refused} of ${counted(items.length, 'row')} refused.` })
    })

  for (const active of [true, false]) {
    user
      .command(`${active ? 'activate' : 'deactivate'} <user>`)
      .description(
        active
          ? 'Let a user sign in again.'
          : 'Deactivate a user. Sign-ins, tunnels and keypairs end at once; sessions continue.',
      )
      .option('--json', 'print JSON')
      .action(async (reference: string, { json = false }: UserFlags) => {
        const { api } = await connect()
        const id = await findUserId(api, reference)
        const changed = await api.updateUser({ params: { id }, body: { active } })
        createOutput(json).data(changed, () => userTable([changed]))
      })
  }
}

/** Fate of a password that somebody else may have known. */
function endedText({ url }: SentLink): string {
  const ended = 'Somebody else may have known the password, so it has ended.'
  return url === null ? `${ended} A link for a new one was mailed.` : `${ended} Pass on this link for a new one: ${url}`
}

async function listUsers(api: ApiClient, { all, inactive, domain, project, role, search }: UserFlags): Promise<User[]> {
  const group = project === undefined ? undefined : (await findGroup(api, project)).id
  const active = all ? undefined : inactive ? 'false' : 'true'
  return everyPage(page => api.listUsers({ query: { ...page, active, domain, group, role, search } }))
}

/** @throws AppError `bad_request` if the file cannot be read, is not in UTF-8, or has no column of e-mail addresses */
async function readRows(file: string): Promise<UserImportRow[]> {
  const text = userFileText(await readInputFile(file))
  if (text === undefined)
    throw new AppError('bad_request', { why: 'The file is not in UTF-8. Save it as "CSV UTF-8" in your spreadsheet.' })
  const { default: Papa } = await import('papaparse')
  const rows = userImportRows(Papa.parse<string[]>(text, { skipEmptyLines: 'greedy' }).data)
  if (!rows?.length) {
    throw new AppError('bad_request', {
      why: 'The file needs a first line with a column "email", and a line for each user.',
    })
  }
  return rows
}

function importTable(items: readonly UserImportOutcome[], dryRun: boolean): string {
  const words = { created: dryRun ? 'would be created' : 'created', exists: 'exists already', refused: 'refused' }
  return table(
    ['E-MAIL', 'OUTCOME', 'LINK'],
    items.map(({ email, outcome, link, error }) => [
      email,
      words[outcome],
      link?.url ?? error?.message ?? (outcome === 'created' && !dryRun ? 'mailed' : ''),
    ]),
  )
}

async function readPassword(fromStdin = false): Promise<string> {
  return fromStdin ? readStandardInput() : promptSecret('Password: ')
}

function withSettings(command: Command): Command {
  return command
    .addOption(new Option('--role <role>', 'what the user may do').choices(Role.options))
    .option('--domain <name>', 'domain of the user (default: your own)')
    .option('--projects <names>', 'projects of the domain, separated by commas, instead of "default"', parseNames)
    .option('--description <text>', 'a note about the account')
    .option('--policy <name>', 'resource policy of the user (superadmins only)')
    .option(
      '--require-password-change',
      'the next sign-in with the password has to set a new one (default for a new password)',
    )
    .option(
      '--no-require-password-change',
      'the password that you choose may stay (superadmins only, for accounts of programs)',
    )
    .option('--json', 'print JSON')
}

const parseNames = (text: string) => text.split(',').filter(name => name !== '')

function changeOf(flags: UserFlags): Omit<UserChange, 'active' | 'password'> {
  const { name, role, domain, projects, description, policy, requirePasswordChange } = flags
  return {
    ...defined({
      description,
      resourcePolicy: policy,
      mustChangePassword: requirePasswordChange,
      name,
      role,
      domain,
      groups: projects,
    }),
  }
}

const userTable = (items: readonly User[]) =>
  table(
    ['E-MAIL', 'NAME', 'ROLE', 'DOMAIN', 'PROJECTS', 'ACTIVE', 'AGE', 'ID'],
    items.map(one => [
      one.email,
      one.name,
      one.role,
      one.domain,
      one.groups.map(group => group.name).join(', '),
      one.active ? (one.emailVerified ? 'yes' : 'unconfirmed') : 'no',
      age(one.createdAt),
      one.id,
    ]),
  )
