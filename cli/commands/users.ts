import { type Command, Option } from 'commander'
import { type ApiClient, Role, type User, type UserChange } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { promptSecret, readStandardInput } from '../secret-input.ts'
import { adminOf } from './admin.ts'
import { everyPage } from './every-page.ts'
import { findGroup, findUserId } from './find-user.ts'
import { age } from './text.ts'

interface UserFlags {
  name?: string
  role?: Role
  domain?: string
  group?: string
  groups?: string[]
  search?: string
  all?: boolean
  inactive?: boolean
  password?: boolean
  passwordStdin?: boolean
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
    .option('--group <group>', 'only members of this project (name, domain/name or id)')
    .addOption(new Option('--role <role>', 'only users with this role').choices(Role.options))
    .option('--search <text>', 'only users whose e-mail address or name has this text')
    .option('--json', 'print JSON')
    .action(async ({ json = false, ...flags }: UserFlags) => {
      const { api } = await connect()
      const items = await listUsers(api, flags)
      createOutput(json).data(items, () => userTable(items))
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
      createOutput(json).data(changed, () => userTable([changed]))
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

async function listUsers(api: ApiClient, { all, inactive, domain, group, role, search }: UserFlags): Promise<User[]> {
  const groupId = group === undefined ? undefined : (await findGroup(api, group)).id
  const active = all ? undefined : inactive ? 'false' : 'true'
  return everyPage(page => api.listUsers({ query: { ...page, active, domain, group: groupId, role, search } }))
}

async function readPassword(fromStdin = false): Promise<string> {
  return fromStdin ? readStandardInput() : promptSecret('Password: ')
}

function withSettings(command: Command): Command {
  return command
    .addOption(new Option('--role <role>', 'what the user may do').choices(Role.options))
    .option('--domain <name>', 'domain of the user (default: your own)')
    .option('--groups <names>', 'projects of the domain, separated by commas, instead of "default"', parseNames)
    .option('--json', 'print JSON')
}

const parseNames = (text: string) => text.split(',').filter(name => name !== '')

function changeOf({ name, role, domain, groups }: UserFlags): Pick<UserChange, 'name' | 'role' | 'domain' | 'groups'> {
  return {
    ...(name === undefined ? {} : { name }),
    ...(role === undefined ? {} : { role }),
    ...(domain === undefined ? {} : { domain }),
    ...(groups === undefined ? {} : { groups }),
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
