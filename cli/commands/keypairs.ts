import { type Command } from 'commander'
import { defined } from '#base/defined'
import { AppError, type Keypair, type KeypairSpec, type NewKeypair } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { parseCount } from './count-option.ts'
import { readStandardInput } from '../secret-input.ts'
import { adminOf } from './admin.ts'
import { everyPage } from './every-page.ts'
import { findUserId } from './find-user.ts'
import { proving } from './proving.ts'
import { age } from './text.ts'

interface KeypairFlags {
  rateLimit?: number
  policy?: string
  name?: string
  accessKey?: string
  secretStdin?: boolean
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
    .option('--name <name>', 'what it is for')
    .option('--rate-limit <n>', 'requests per 15 minutes (superadmins only)', parseCount)
    .option('--policy <name>', 'resource policy (superadmins only)')
    .option('--access-key <key>', 'use this access key instead of a random one (admins only); with --secret-stdin')
    .option('--secret-stdin', 'read the secret key for --access-key from standard input')
    .option('--inactive', 'inactive at first')
    .option('--json', 'print JSON')
    .action(async ({ inactive = false, json = false, ...flags }: KeypairFlags) =>
      create({ active: !inactive, ...settingsOf(flags), ...(await chosenKeys(flags)) }, json),
    )
  addUpdate(keypair)
  keypair
    .command('accept <access-key>')
    .description(
      'Accept a keypair that somebody made for you. The secret key is shown only this once. `rm` refuses it.',
    )
    .option('--json', 'print JSON')
    .action(async (accessKey: string, { json = false }: KeypairFlags) => {
      const { api } = await connect()
      show(await proving(proof => api.acceptKeypair({ params: { accessKey }, body: proof })), json)
    })
  addRemove(keypair)
}

function addManaged(keypair: Command): void {
  keypair
    .command('ls')
    .option('--json', 'print JSON')
    .action(({ json = false }: KeypairFlags) => list({}, json))
  keypair
    .command('create <user>')
    .description(
      'Make a keypair for a user (address or id). It opens nothing until the user accepts it and so gets its secret key.',
    )
    .option('--name <name>', 'what it is for')
    .option('--rate-limit <n>', 'requests per 15 minutes (superadmins only)', parseCount)
    .option('--policy <name>', 'resource policy (superadmins only)')
    .option('--json', 'print JSON')
    .action(async (user: string, { json = false, ...flags }: KeypairFlags) => {
      const { api } = await connect()
      const made = await api.createUserKeypair({ params: { id: await findUserId(api, user) }, body: settingsOf(flags) })
      createOutput(json).data(made, () => `access key  ${made.accessKey}\nwaits until ${made.email} accepts it`)
    })
  addUpdate(keypair)
    .option('--rate-limit <n>', 'requests per 15 minutes (superadmins only)', parseCount)
    .option('--policy <name>', 'resource policy (superadmins only)')
  addRemove(keypair)
}

function addUpdate(keypair: Command): Command {
  return keypair
    .command('update <access-key>')
    .description('Change a keypair. Settings that you leave out stay.')
    .option('--name <name>', 'what it is for')
    .option('--active', 'activate the keypair, if it is yours')
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
  show(await proving(proof => api.createKeypair({ body: { ...body, ...proof } })), json)
}

function show(made: NewKeypair, json: boolean): void {
  createOutput(json).data(made, () => `access key  ${made.accessKey}\nsecret key  ${made.secretKey}`)
}

/** The secret key is never an argument: other users can see those. */
async function chosenKeys({
  accessKey,
  secretStdin,
}: KeypairFlags): Promise<Pick<KeypairSpec, 'accessKey' | 'secretKey'>> {
  if (accessKey === undefined && !secretStdin) return {}
  if (accessKey === undefined || !secretStdin) {
    throw new AppError('bad_request', { why: 'Give --access-key and --secret-stdin together.' })
  }
  return { accessKey, secretKey: await readStandardInput() }
}

const settingsOf = ({ name, rateLimit, policy }: KeypairFlags) => defined({ name, rateLimit, resourcePolicy: policy })

async function update(accessKey: string, { active, json = false, ...flags }: KeypairFlags): Promise<void> {
  const { api } = await connect()
  const body = { ...defined({ active }), ...settingsOf(flags) }
  const changed = await api.updateKeypair({ params: { accessKey }, body })
  createOutput(json).data(changed, () => keypairTable([changed]))
}

const keypairTable = (items: readonly Keypair[]) =>
  table(
    ['ACCESS KEY', 'NAME', 'USER', 'ACTIVE', 'MADE BY', 'PER 15 MIN', 'POLICY', 'AGE', 'LAST USED'],
    items.map(one => [
      one.accessKey,
      one.name || '-',
      one.email,
      one.active ? 'yes' : one.waits ? 'waits' : 'no',
      one.createdBy ?? '-',
      String(one.rateLimit),
      one.resourcePolicy,
      age(one.createdAt),
      one.lastUsedAt === null ? 'never' : age(one.lastUsedAt),
    ]),
  )
