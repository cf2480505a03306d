import { type Command } from 'commander'
import { defined } from '#base/defined'
import { AppError, type ImageRequest, type SessionImage } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { listenForInterrupt } from '../interrupt.ts'
import { createOutput, table } from '../output.ts'
import { findSession } from './find-session.ts'
import { describeTask, followSessionImage, followTask } from './follow-task.ts'

interface CommitFlags {
  readonly title?: string
  readonly note?: string
  readonly status?: boolean
  readonly cancel?: boolean
  readonly json?: boolean
}

interface AcceptFlags {
  readonly push?: string
  readonly project?: string
  readonly json?: boolean
}

/** Adds `berth session commit`: an image of a session. */
export function addSessionImageCommand(session: Command): void {
  session
    .command('commit <session> [name]')
    .description(
      'Make an image of a running session, such as users/ada-1f0c22d4/torch:2, or ask a superadmin for it. Its home and folders are not in the image; files that programs wrote elsewhere are, and every user may launch it.',
    )
    .option('--title <text>', 'title of the image (default: that of the image of the session)')
    .option('--note <text>', 'what the image is for; superadmins read it')
    .option('--status', 'show what became of the request, without a new one')
    .option('--cancel', 'withdraw the request, or cancel the work')
    .option('--json', 'print JSON')
    .action(async (reference: string, name: string | undefined, flags: CommitFlags) => {
      const { title, note, status = false, cancel = false, json = false } = flags
      if ((name === undefined) !== (status || cancel)) {
        throw new AppError('bad_request', { why: 'Give the name of the new image, or --status, or --cancel.' })
      }
      const connection = await connect()
      const { api } = connection
      const { id } = await findSession(connection, reference)
      const params = { id }
      if (cancel) {
        await api.cancelSessionImage({ params })
        return
      }
      const output = createOutput(json)
      const print = (image: SessionImage) => output.data(image, () => stateText(image))
      if (name === undefined) {
        print(await api.getSessionImage({ params }))
        return
      }
      const body = {
        reference: name,
        ...defined({ title, note }),
      }
      const image = await api.saveSession({ params, body })
      if (image.request || !image.task) {
        print(image)
        return
      }
      using interrupt = listenForInterrupt()
      const task = await followSessionImage(api, id, image.task, interrupt.signal)
      print({ ...image, task })
      interrupt.signal.throwIfAborted()
    })
}

/** Adds `request ls|accept|decline`. @param image the command `berth admin image` */
export function addImageRequestCommands(image: Command): void {
  const request = image.command('request').description('Images of sessions for which their owners ask.')

  request
    .command('ls')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const { items } = await api.listImageRequests()
      createOutput(json).data(items, () => requestTable(items))
    })

  request
    .command('accept <id>')
    .description('Make the image, push it to a registry if one is named, and follow the work.')
    .option('--push <registry>', 'registry to push to, with the user that Berth has for it')
    .option('--project <name>', 'project of the registry, before the name of the image')
    .option('--json', 'print JSON')
    .action(async (id: string, { push: registry, project, json = false }: AcceptFlags) => {
      if (registry === undefined && project !== undefined) {
        throw new AppError('bad_request', { why: '--project goes with --push.' })
      }
      const push = registry === undefined ? {} : { push: { registry, ...defined({ project }) } }
      const { api } = await connect()
      using interrupt = listenForInterrupt()
      const task = await followTask(api, await api.acceptImageRequest({ params: { id }, body: push }), interrupt.signal)
      createOutput(json).data(task, () => describeTask(task))
      interrupt.signal.throwIfAborted()
    })

  request
    .command('decline <id>')
    .description('Decline a request; the owner of the session gets a message.')
    .option('--reason <text>', 'why')
    .action(async (id: string, { reason }: { reason?: string }) => {
      const { api } = await connect()
      await api.declineImageRequest({ params: { id }, body: defined({ reason }) })
    })
}

function stateText({ request, task }: SessionImage): string {
  if (request) return `${request.reference}: waits for a superadmin, until ${request.expiresAt}`
  return task ? describeTask(task) : 'No image was asked for.'
}

const requestTable = (items: readonly ImageRequest[]) =>
  table(
    ['ID', 'IMAGE', 'SESSION', 'OF', 'MADE FROM', 'NOTE'],
    items.map(one => [
      one.id,
      one.reference,
      one.session.name,
      one.email,
      one.session.image,
      one.note.replaceAll(/\s+/g, ' '),
    ]),
  )
