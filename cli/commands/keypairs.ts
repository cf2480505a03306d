import { type Command, InvalidArgumentError } from 'commander'
import { type Keypair } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { age } from './text.ts'

interface KeypairFlags {
  user?: string
  rateLimit?: number
  active?: boolean
  inactive?: boolean
  mine?: boolean
  json?: boolean
}

/** `berth keypair …`: everybody their own, a superadmin all. */
export function addKeypairCommands(program: Command): void {
  const keypair = program.command('keypair').description('Access keys for scripts.')

  keypair
    .command('ls')
    .option('--mine', 'own ones only, for superadmins')
    .option('--json', 'print JSON')
    .action(async ({ mine = false, json = false }: KeypairFlags) => {
      const { api } = await connect()
      const items: Keypair[] = []
      let cursor: string | undefined
      do {
        const page = await api.listKeypairs({
          query: { limit: 500, ...(mine ? { mine: 'true' } : {}), ...(cursor === undefined ? {} : { cursor }) },
        })
        items.push(...page.items)
        cursor = page.nextCursor ?? undefined
      } while (cursor !== undefined)
      createOutput(json).data(items, () => keypairTable(items))
    })

  keypair
    .command('create')
    .description('Make a keypair. The secret key is printed this once.')
    .option('--user <id>', 'for another user; for superadmins')
    .option('--rate-limit <n>', 'requests per 15 minutes; for superadmins', parseCount)
    .option('--inactive', 'not to be used at first')
    .option('--json', 'print JSON')
    .action(async ({ user, rateLimit, inactive = false, json = false }: KeypairFlags) => {
      const { api } = await connect()
      const body = {
        active: !inactive,
        ...(user === undefined ? {} : { userId: user }),
        ...(rateLimit === undefined ? {} : { rateLimit }),
      }
      const made = await api.createKeypair({ body })
      createOutput(json).data(made, () => `access key  ${made.accessKey}\nsecret key  ${made.secretKey}`)
    })

  keypair
    .command('update <access-key>')
    .description('What is left out stays.')
    .option('--rate-limit <n>', 'requests per 15 minutes; for superadmins', parseCount)
    .option('--active', 'may be used')
    .option('--no-active', 'may not be used')
    .option('--json', 'print JSON')
    .action(async (accessKey: string, { rateLimit, active, json = false }: KeypairFlags) => {
      const { api } = await connect()
      const body = { ...(active === undefined ? {} : { active }), ...(rateLimit === undefined ? {} : { rateLimit }) }
      const changed = await api.updateKeypair({ params: { accessKey }, body })
      createOutput(json).data(changed, () => keypairTable([changed]))
    })

  keypair
    .command('rm <access-key>')
    .description('Delete it; refused while sessions refer to it.')
    .action(async (accessKey: string) => {
      const { api } = await connect()
      await api.deleteKeypair({ params: { accessKey } })
    })
}

function parseCount(text: string): number {
  const count = Number(text)
  if (!Number.isSafeInteger(count) || count < 1) throw new InvalidArgumentError('It must be a number from 1.')
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
