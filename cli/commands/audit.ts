import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { AUDIT_FORMATS } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { fetchByEnvironment } from '#proxy/network'
import { createOutput } from '../output.ts'
import { writeParts } from '../write-parts.ts'
import { adminOf } from './admin.ts'
import { auditTable, parseAction } from './audit-text.ts'
import { failureOf } from './failure-of.ts'

interface Filter {
  actor?: string
  action?: string
  target?: string
  from?: string
  to?: string
}

/** `berth admin audit …`, for admins. */
export function addAuditCommands(program: Command): void {
  const admin = adminOf(program)
  const audit = admin.command('audit').description('The audit log: who did what, and with which result.')

  withFilter(audit.command('ls').description('The newest entries.'))
    .option('--limit <n>', 'how many', parseLimit, 50)
    .option('--json', 'print JSON')
    .action(async ({ limit, json = false, ...filter }: Filter & { limit: number; json?: boolean }) => {
      const { api } = await connect()
      const { items } = await api.listAuditLog({ query: { ...filter, limit } })
      createOutput(json).data(items, () => auditTable(items))
    })

  withFilter(audit.command('export').description('Write all entries, oldest first, to standard output or to a file.'))
    .addOption(new Option('--format <format>', 'format of the file').choices(AUDIT_FORMATS).default('jsonl'))
    .option('--out <file>', 'file to write; it must not exist yet')
    .action(async ({ out, ...query }: Filter & { format: string; out?: string }) => {
      const { endpoint, credentials } = await connect()
      const search = new URLSearchParams(Object.entries<string>(query)).toString()
      const url = `${endpoint}/api/v1/audit-log/export?${search}`
      const reply = await fetchByEnvironment(url, { headers: await credentials({ method: 'GET', url }) })
      if (!reply.ok || !reply.body) throw await failureOf(reply)
      if (out === undefined) await writeParts(Readable.fromWeb(reply.body).setEncoding('utf8'))
      else await pipeline(Readable.fromWeb(reply.body), createWriteStream(out, { flags: 'wx', mode: 0o600 }))
    })
}

function withFilter(command: Command): Command {
  return command
    .option('--actor <user>', 'e-mail address or id')
    .option('--action <name>', 'e.g. updateUser, or its words: "Change a user"', parseAction)
    .option('--target <target>', 'e.g. session:0198…, or session: for all of a kind')
    .option('--from <time>', 'oldest time, e.g. 2026-01-31 or 2026-01-31T12:00Z', parseTime)
    .option('--to <time>', 'before', parseTime)
}

function parseTime(text: string): string {
  const time = new Date(text)
  if (Number.isNaN(time.getTime())) throw new InvalidArgumentError('The value must be a date such as 2026-01-31.')
  return time.toISOString()
}

function parseLimit(text: string): number {
  const limit = Number(text)
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > 500)
    throw new InvalidArgumentError('The value must be a number from 1 to 500.')
  return limit
}
