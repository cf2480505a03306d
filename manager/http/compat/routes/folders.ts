import { z } from 'zod'
import { AppError, FolderInvitationId } from '#manager/contract'
import { NotOffered } from '../errors.ts'
import { findFolder, shortId } from '../find.ts'
import { Flag, readInput } from '../input.ts'
import { type CompatContext, type CompatRoute } from '../route.ts'
import { readPermission, tellFolder, tellPermission } from '../tell-folder.ts'

const Text = z.string().max(512)
const Emails = z.array(z.string().max(254)).min(1).max(100)
const ListInput = z.object({ all: Flag.optional(), group_id: Text.optional() })
const CreateInput = z.object({
  name: Text,
  host: Text.optional(),
  folder_host: Text.optional(),
  unmanaged_path: Text.optional(),
  unmanagedPath: Text.optional(),
  group: Text.optional(),
  group_id: Text.optional(),
  usage_mode: Text.optional(),
  permission: Text.optional(),
  quota: z.union([z.string().max(64), z.number()]).optional(),
  cloneable: Flag.optional(),
})
const Named = z.object({ id: Text.optional(), name: Text.optional(), vfolder_id: Text.optional() })
const CloneInput = z.object({ target_name: Text, target_host: Text.optional() })
const OptionsInput = z.object({ permission: Text.optional(), cloneable: Flag.optional() })
const InviteInput = z.object({
  perm: Text.optional(),
  permission: Text.optional(),
  user_ids: Emails.optional(),
  emails: Emails.optional(),
})
const InvitationInput = z.object({ inv_id: Text })

/** Folders, their members and invitations. */
export const FOLDER_ROUTES: readonly CompatRoute[] = [
  { method: 'GET', path: '/folders', handle: list },
  { method: 'POST', path: '/folders', handle: create },
  { method: 'DELETE', path: '/folders', handle: trashNamed },
  { method: 'GET', path: '/folders/_/id', handle: idOf },
  { method: 'GET', path: '/folders/_/hosts', handle: hosts },
  { method: 'GET', path: '/folders/_/all-hosts', handle: hosts },
  { method: 'GET', path: '/folders/_/all_hosts', handle: hosts },
  { method: 'GET', path: '/folders/_/allowed_types', handle: () => Promise.resolve(['user', 'group']) },
  { method: 'GET', path: '/folders/_/allowed-types', handle: () => Promise.resolve(['user', 'group']) },
  { method: 'POST', path: '/folders/delete-from-trash-bin', handle: purge },
  { method: 'POST', path: '/folders/purge', handle: purge },
  { method: 'POST', path: '/folders/restore-from-trash-bin', handle: restore },
  { method: 'GET', path: '/folders/invitations/list', handle: invitations },
  { method: 'POST', path: '/folders/invitations/accept', handle: accept },
  { method: 'DELETE', path: '/folders/invitations/delete', handle: decline },
  { method: 'GET', path: '/folders/:folder', handle: show },
  { method: 'DELETE', path: '/folders/:folder', handle: trash },
  { method: 'POST', path: '/folders/:folder/rename', handle: rename },
  { method: 'POST', path: '/folders/:folder/clone', handle: clone },
  { method: 'POST', path: '/folders/:folder/update-options', handle: updateOptions },
  { method: 'POST', path: '/folders/:folder/leave', handle: leave },
  { method: 'POST', path: '/folders/:folder/invite', handle: invite },
  { method: 'POST', path: '/folders/:folder/share', handle: share },
  { method: 'DELETE', path: '/folders/:folder/unshare', handle: unshare },
  { method: 'POST', path: '/folders/:folder/unshare', handle: unshare },
]

async function list({ api, request }: CompatContext): Promise<unknown> {
  const { group_id } = await readInput(request, ListInput)
  const [{ items }, { user }] = await Promise.all([api.listFolders(), api.me()])
  const shown = group_id === undefined ? items : items.filter(({ group }) => group?.id === group_id)
  return shown.map(folder => tellFolder(folder, user.id))
}

async function create({ api, request, reply }: CompatContext): Promise<unknown> {
  const input = await readInput(request, CreateInput)
  if ((input.unmanaged_path ?? input.unmanagedPath ?? '') !== '')
    throw new AppError('bad_request', { why: 'unmanaged_path: Berth has no folders outside of its storage hosts.' })
  const group = input.group ?? input.group_id
  const usageMode = z.enum(['general', 'data', 'model']).optional().safeParse(input.usage_mode?.toLowerCase())
  if (!usageMode.success) throw new AppError('bad_request', { why: 'usage_mode: must be general, data or model.' })
  const permission = group === undefined ? undefined : permissionOf(input.permission ?? 'rw')
  const storageHost = input.host ?? input.folder_host
  const folder = await api.createFolder({
    body: {
      name: input.name,
      ...(storageHost === undefined || storageHost === '' ? {} : { storageHost: hostName(storageHost) }),
      ...(group === undefined ? {} : { group }),
      ...(permission === undefined ? {} : { permission }),
      ...(usageMode.data === undefined ? {} : { usageMode: usageMode.data }),
    },
  })
  void reply.code(201)
  return tellFolder(folder, (await api.me()).user.id)
}

/** Clients of the original may name a host as `PROXY:VOLUME`. */
const hostName = (host: string): string => host.split(':').at(-1) ?? host

function permissionOf(text: string) {
  const permission = readPermission(text.toLowerCase())
  if (permission) return permission
  throw new AppError('bad_request', { why: 'permission: must be ro, rw or wd.' })
}

async function idOf({ api, request }: CompatContext): Promise<unknown> {
  const { name = '', id = name } = await readInput(request, Named)
  return { id: shortId((await findFolder(api, id)).id) }
}

async function hosts({ api }: CompatContext): Promise<unknown> {
  const { items } = await api.listStorageHosts()
  const allowed = items.map(({ name }) => name)
  const volumes = items.map(({ name, space, problem }) => [
    name,
    {
      backend: 'vfs',
      capabilities: ['vfolder'],
      usage: {
        percentage: space ? Math.round((100 * space.usedBytes) / Math.max(1, space.usedBytes + space.freeBytes)) : 0,
      },
      sftp_scaling_groups: [],
      problem,
    },
  ])
  return { default: allowed[0] ?? null, allowed, volume_info: Object.fromEntries(volumes) as unknown }
}

const folderOf = ({ api, params }: CompatContext) => findFolder(api, params.folder ?? '')

async function show(context: CompatContext): Promise<unknown> {
  const [folder, { user }] = await Promise.all([folderOf(context), context.api.me()])
  return tellFolder(folder, user.id)
}

async function trash(context: CompatContext): Promise<undefined> {
  const { id } = await folderOf(context)
  await context.api.trashFolder({ params: { id } })
}

async function trashNamed({ api, request }: CompatContext): Promise<undefined> {
  const { id } = await findFolder(api, await nameIn(request))
  await api.trashFolder({ params: { id } })
}

async function purge({ api, request }: CompatContext): Promise<undefined> {
  const { id } = await findFolder(api, await nameIn(request), true)
  await api.deleteFolder({ params: { id } })
}

async function restore({ api, request }: CompatContext): Promise<undefined> {
  const { id } = await findFolder(api, await nameIn(request), true)
  await api.restoreFolder({ params: { id } })
}

async function nameIn(request: CompatContext['request']): Promise<string> {
  const { id, vfolder_id, name } = await readInput(request, Named)
  const named = id ?? vfolder_id ?? name
  if (named !== undefined) return named
  throw new AppError('bad_request', { why: 'id: name the folder.' })
}

async function rename(context: CompatContext): Promise<unknown> {
  const { new_name } = await readInput(context.request, z.object({ new_name: Text }))
  const { id } = await folderOf(context)
  await context.api.updateFolder({ params: { id }, body: { name: new_name } })
  void context.reply.code(201)
  return {}
}

/** Clients follow the copy at the events of tasks, by the id of the new folder. */
async function clone(context: CompatContext): Promise<unknown> {
  const { api, request } = context
  const { target_name, target_host } = await readInput(request, CloneInput)
  const source = await folderOf(context)
  const { folder } = await api.cloneFolder({
    params: { id: source.id },
    body: { name: target_name, ...(target_host ? { storageHost: hostName(target_host) } : {}) },
  })
  void context.reply.code(201)
  return { ...tellFolder(folder, (await api.me()).user.id), bgtask_id: folder.id }
}

async function updateOptions(context: CompatContext): Promise<unknown> {
  const { permission } = await readInput(context.request, OptionsInput)
  const folder = await folderOf(context)
  if (permission !== undefined) {
    if (folder.group === null)
      throw new NotOffered('Berth has no permission for the owner of a folder: it is chosen with each invitation.')
    await context.api.updateFolder({ params: { id: folder.id }, body: { permission: permissionOf(permission) } })
  }
  void context.reply.code(201)
  return {}
}

async function leave(context: CompatContext): Promise<unknown> {
  const { id } = await folderOf(context)
  await context.api.leaveFolder({ params: { id } })
  return {}
}

async function invited(context: CompatContext): Promise<string[]> {
  const input = await readInput(context.request, InviteInput)
  const { id } = await folderOf(context)
  const permission = permissionOf((input.perm ?? input.permission ?? 'rw').toLowerCase())
  const emails = input.emails ?? input.user_ids ?? []
  for (const email of emails) await context.api.inviteToFolder({ params: { id }, body: { email, permission } })
  return emails
}

async function invite(context: CompatContext): Promise<unknown> {
  const invited_ids = await invited(context)
  void context.reply.code(201)
  return { invited_ids, msg: '' }
}

/** Berth asks people whether they want a folder: what shares it at once in the original sends invitations here. */
async function share(context: CompatContext): Promise<unknown> {
  const shared_emails = await invited(context)
  void context.reply.code(201)
  return { shared_emails }
}

async function unshare(context: CompatContext): Promise<unknown> {
  const { api, request } = context
  const { emails = [], user_ids = emails } = await readInput(request, InviteInput)
  const { id } = await folderOf(context)
  const { members, invitations: open } = await api.listFolderShares({ params: { id } })
  const wanted = new Set(user_ids.map(email => email.toLowerCase()))
  const unshared_emails: string[] = []
  for (const { userId, email } of members.filter(member => wanted.has(member.email.toLowerCase()))) {
    await api.deleteFolderMember({ params: { id, userId } })
    unshared_emails.push(email)
  }
  for (const { id: invitationId, email } of open.filter(sent => wanted.has(sent.email.toLowerCase()))) {
    await api.deleteFolderInvitation({ params: { id, invitationId } })
    unshared_emails.push(email)
  }
  return { unshared_emails }
}

async function invitations({ api }: CompatContext): Promise<unknown> {
  const { items } = await api.listFolderInvitations()
  return {
    invitations: items.map(({ id, folder, from, permission, createdAt }) => ({
      id,
      inviter: from.email,
      inviter_user_email: from.email,
      invitee: '',
      perm: tellPermission(permission),
      state: 'pending',
      status: '',
      created_at: createdAt,
      modified_at: null,
      vfolder_id: shortId(folder.id),
      vfolder_name: folder.name,
    })),
  }
}

async function invitationIn(request: CompatContext['request']) {
  const { inv_id } = await readInput(request, InvitationInput)
  const id = FolderInvitationId.safeParse(inv_id)
  if (id.success) return { id: id.data }
  throw new AppError('invitation_not_found')
}

async function accept({ api, request }: CompatContext): Promise<unknown> {
  await api.acceptFolderInvitation({ params: await invitationIn(request) })
  return {}
}

async function decline({ api, request }: CompatContext): Promise<unknown> {
  await api.declineFolderInvitation({ params: await invitationIn(request) })
  return {}
}
