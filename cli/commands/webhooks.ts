import { type Command } from 'commander'
import { defined } from '#base/defined'
import {
  type ApiClient,
  AppError,
  PROJECT_WEBHOOK_EVENTS,
  type Webhook,
  WEBHOOK_EVENTS,
  type WebhookChange,
  type WebhookDelivery,
  WebhookEvent,
  WebhookForm,
} from '#manager/contract'
import { connect } from '../config/connect.ts'
import { EXIT } from '../exit-codes.ts'
import { createOutput, table } from '../output.ts'
import { promptSecret, readStandardInput } from '../secret-input.ts'
import { adminOf } from './admin.ts'
import { parseCount } from './count-option.ts'
import { findGroup } from './find-user.ts'
import { age } from './text.ts'

interface WebhookFlags {
  name?: string
  project?: string
  url?: string
  urlStdin?: boolean
  form?: string
  event?: string[]
  waitingMinutes?: number
  active?: boolean
  limit?: number
  json?: boolean
}

/** `berth admin webhook …`, for admins of a domain and superadmins. */
export function addWebhookCommands(program: Command): void {
  const webhook = adminOf(program)
    .command('webhook')
    .description('Webhooks: tell programs and chat rooms of sessions, limits and hosts.')

  webhook
    .command('ls')
    .description('List the webhooks that you administer.')
    .option('--project <name>', 'only those of this project')
    .option('--json', 'print JSON')
    .action(async ({ json = false, project }: WebhookFlags) => {
      const { api } = await connect()
      const projectId = project === undefined ? undefined : (await findGroup(api, project)).id
      const { items } = await api.listWebhooks({ query: defined({ projectId }) })
      createOutput(json).data(items, () => webhookTable(items))
    })

  withSettings(
    webhook
      .command('create <name>')
      .description('Add a webhook. Its address is asked for, and its secret printed once.'),
  )
    .option('--project <name>', 'project whose events it gets (default: the whole installation, for superadmins)')
    .action(async (name: string, { json = false, ...flags }: WebhookFlags) => {
      const url = flags.url ?? (await readUrl(flags))
      const { api } = await connect()
      const projectId = flags.project === undefined ? null : (await findGroup(api, flags.project)).id
      const settings = settingsOf(flags)
      const events = settings.events ?? [...(projectId === null ? WEBHOOK_EVENTS : PROJECT_WEBHOOK_EVENTS)]
      const made = await api.createWebhook({ body: { ...settings, name, url, projectId, events } })
      const output = createOutput(json)
      output.data(made, () => `${webhookTable([made])}\n\nSecret, shown only now: ${made.secret}`)
      output.note(`Next: berth admin webhook test ${made.id}`)
    })

  withSettings(
    webhook
      .command('update <webhook>')
      .description('Change a webhook, named by name or id. Settings that you leave out stay. You are its owner then.'),
  )
    .option('--name <name>', 'another name')
    .option('--active', 'switch it on')
    .option('--no-active', 'switch it off: what waits to be sent is dropped')
    .action(async (reference: string, { json = false, ...flags }: WebhookFlags) => {
      const { api } = await connect()
      const { id } = await findWebhook(api, reference)
      const url = flags.url ?? (flags.urlStdin ? await readUrl(flags) : undefined)
      const { name, active } = flags
      const body = { ...settingsOf(flags), ...defined({ name, url, active }) }
      const changed = await api.updateWebhook({ params: { id }, body })
      createOutput(json).data(changed, () => webhookTable([changed]))
    })

  webhook
    .command('rm <webhook>')
    .description('Delete a webhook with its log.')
    .action(async (reference: string) => {
      const { api } = await connect()
      await api.deleteWebhook({ params: { id: (await findWebhook(api, reference)).id } })
    })

  webhook
    .command('secret <webhook>')
    .description('Make and print a new secret. For a day, events are signed with the old one too.')
    .option('--json', 'print JSON')
    .action(async (reference: string, { json = false }: WebhookFlags) => {
      const { api } = await connect()
      const made = await api.rotateWebhookSecret({ params: { id: (await findWebhook(api, reference)).id } })
      createOutput(json).data(made, () => made.secret)
    })

  webhook
    .command('test <webhook>')
    .description('Send a test event now. Fails if the receiver does not take it.')
    .option('--json', 'print JSON')
    .action(async (reference: string, { json = false }: WebhookFlags) => {
      const { api } = await connect()
      const sent = await api.testWebhook({ params: { id: (await findWebhook(api, reference)).id } })
      createOutput(json).data(sent, () => deliveryTable([sent]))
      if (sent.status !== 'delivered') process.exitCode = EXIT.failed
    })

  webhook
    .command('log <webhook>')
    .description('Show what was sent to a webhook and how it went, newest first.')
    .option('--limit <count>', 'number of deliveries', parseCount, 20)
    .option('--json', 'print JSON, also the beginning of each answer')
    .action(async (reference: string, { json = false, limit = 20 }: WebhookFlags) => {
      const { api } = await connect()
      const { id } = await findWebhook(api, reference)
      const { items } = await api.listWebhookDeliveries({ params: { id }, query: { limit } })
      createOutput(json).data(items, () => deliveryTable(items))
    })

  webhook
    .command('resend <webhook> <delivery>')
    .description('Send an event again, named by the id of its delivery in the log.')
    .option('--json', 'print JSON')
    .action(async (reference: string, deliveryId: string, { json = false }: WebhookFlags) => {
      const { api } = await connect()
      const { id } = await findWebhook(api, reference)
      const again = await api.resendWebhookDelivery({ params: { id, deliveryId } })
      createOutput(json).data(again, () => deliveryTable([again]))
    })
}

function withSettings(command: Command): Command {
  return command
    .option('--url <address>', 'where events are sent; other users of this computer can read it while the command runs')
    .option('--url-stdin', 'read the address from standard input')
    .option('--form <form>', 'json, or text for chat rooms')
    .option('--event <name...>', `events: ${WEBHOOK_EVENTS.join(', ')} (default: all)`)
    .option('--waiting-minutes <minutes>', 'minutes until a wait is long', parseCount)
    .option('--json', 'print JSON')
}

function readUrl({ urlStdin }: WebhookFlags): Promise<string> {
  return urlStdin ? readStandardInput() : promptSecret('Address: ', '--url-stdin')
}

function settingsOf({ form, event, waitingMinutes }: WebhookFlags): WebhookChange {
  return {
    ...(form === undefined ? {} : { form: WebhookForm.parse(form) }),
    ...(event === undefined ? {} : { events: event.map(name => WebhookEvent.parse(name)) }),
    ...defined({ waitingMinutes }),
  }
}

/** Finds a webhook by id, or by a name that only one has. @throws AppError `webhook_not_found` */
async function findWebhook(api: ApiClient, reference: string): Promise<Webhook> {
  const { items } = await api.listWebhooks()
  const found = items.filter(({ id, name }) => id === reference || name.toLowerCase() === reference.toLowerCase())
  const [webhook] = found
  if (webhook && found.length === 1) return webhook
  const why = webhook
    ? `Several webhooks are named "${reference}". Name one by its id: ${found.map(({ id }) => id).join(', ')}.`
    : `There is no webhook "${reference}". "berth admin webhook ls" lists those that you administer.`
  throw new AppError('webhook_not_found', { why })
}

const stateText = ({ active, off, failingSince }: Webhook) =>
  active ? (failingSince === null ? 'on' : 'failing') : `off (${off ?? 'person'})`

const webhookTable = (items: readonly Webhook[]) =>
  table(
    ['ID', 'NAME', 'ADDRESS', 'PROJECT', 'FORM', 'STATE', 'WAITING', 'OWNER'],
    items.map(one => [
      one.id,
      one.name,
      one.address,
      one.project === null ? '–' : `${one.domain ?? ''}/${one.project}`,
      one.form,
      stateText(one),
      String(one.waiting),
      one.owner ?? '–',
    ]),
  )

const deliveryTable = (items: readonly WebhookDelivery[]) =>
  table(
    ['ID', 'EVENT', 'MADE', 'STATE', 'ATTEMPTS', 'HTTP', 'FAULT'],
    items.map(one => [
      one.id,
      one.event,
      `${age(one.createdAt)} ago`,
      one.status,
      String(one.attempts),
      one.responseStatus === null ? '–' : String(one.responseStatus),
      one.fault ?? '–',
    ]),
  )
