import { type Command, InvalidArgumentError } from 'commander'
import { type Keypair, type KeypairSpec } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { adminOf } from './admin.ts'
import { everyPage } from './every-page.ts'
import { findUserId } from './find-user.ts'
import { age } from './text.ts'

interface KeypairFlags {
  rateLimit?: number
  active?: boolean
  inactive?: boolean
  json?: boolean
}

/** Adds `berth keypair …` for one's own keys, and `berth admin keypair …` for the keys of users whom an admin manages. */
export function addKeypairCommands(program: Command): void {
  addOwn(program.command('keypair').description('Your own access keys for scripts.'))
  addManaged(adminOf(program).command('keypair').description('Access keys of users.'))
}

function addOwn(keypair: Command): void {
  keypair
    .command('ls')
    .option('--json', 'print JSON')
    .action(({ json = false }: KeypairFlags) => list({ mine: 'true' }, json))
  keypair
    .command('create')
    .description('Make a keypair. The secret key is shown only this once.')
    .option('--inactive', 'inactive at first')
    .option('--json', 'print JSON')
    .action(({ inactive = false, json = false }: KeypairFlags) => create({ active: !inactive }, json))
  addUpdate(keypair)
  addRemove(keypair)
}

function addManaged(keypair: Command): void {
  keypair
    .command('ls')
    .option('--json', 'print JSON')
    .action(({ json = false }: KeypairFlags) => list({}, json))
  keypair
    .command('create <user>')
    .description('Make a keypair for a user (address or id). The secret key is shown only this once.')
    .option('--rate-limit <n>', 'requests per 15 minutes (superadmins only)', parseCount)
    .option('--inactive', 'inactive at first')
    .option('--json', 'print JSON')
    .action(async (user: string, { rateLimit, inactive = false, json = false }: KeypairFlags) => {
      const { api } = await connect()
      const limit = rateLimit === undefined ? {} : { rateLimit }
      await create({ active: !inactive, userId: await findUserId(api, user), ...limit }, json)
    })
  addUpdate(keypair).option('--rate-limit <n>', 'requests per 15 minutes (superadmins only)', parseCount)
  addRemove(keypair)
}

function addUpdate(keypair: Command): Command {
  return keypair
    .command('update <access-key>')
    .description('Change a keypair. Settings that you leave out stay.')
    .option('--active', 'activate the keypair')
    .option('--no-active', 'deactivate the keypair')
    .option('--json', 'print JSON')
    .action(update)
}

function addRemove(keypair: Command): void {
  keypair
    .command('rm <access-key>')
    .description('Delete a keypair. A keypair with which sessions were launched cannot be deleted.')
    .action(async (accessKey: string) => {
      const { api } = await connect()
      await api.deleteKeypair({ params: { accessKey } })
    })
}

async function list(whose: { mine?: 'true' }, json: boolean): Promise<void> {
  const { api } = await connect()
  const items = await everyPage(page => api.listKeypairs({ query: { ...whose, ...page } }))
  createOutput(json).data(items, () => keypairTable(items))
}

async function create(body: KeypairSpec, json: boolean): Promise<void> {
  const { api } = await connect()
  const made = await api.createKeypair({ body })
  createOutput(json).data(made, () => `access key  ${made.accessKey}\nsecret key  ${made.secretKey}`)
}

async function update(accessKey: string, { rateLimit, active, json = false }: KeypairFlags): Promise<void> {
  const { api } = await connect()
  const body = { ...(active === undefined ? {} : { active }), ...(rateLimit === undefined ? {} : { rateLimit }) }
  const changed = await api.updateKeypair({ params: { accessKey }, body })
  createOutput(json).data(changed, () => keypairTable([changed]))
}

function parseCount(text: string): number {
  const count = Number(text)
  if (!Number.isSafeInteger(count) || count < 1)
    throw new InvalidArgumentError('The value must be a whole number of 1 or more.')
  return count
}

const keypairTable = (items: readonly Keypair[]) =>
  table(
    ['ACCESS KEY', 'USER', 'ACTIVE', 'PER 15 MIN', 'POLICY', 'AGE', 'LAST USED'],
    items.map(one => [
      one.accessKey,
      one.email,
      one.active ? 'yes' : 'no',
      String(one.rateLimit),
      one.resourcePolicy,
      age(one.createdAt),
      one.lastUsedAt === null ? 'never' : age(one.lastUsedAt),
    ]),
  )
