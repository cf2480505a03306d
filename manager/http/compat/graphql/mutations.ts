import { z } from 'zod'
import { defined } from '#base/defined'
import { AppError, GroupId, isAppError, AccessKey, type UserChange, UserId } from '#manager/contract'
import { readSlots } from '../amounts.ts'
import { findUser } from '../find.ts'
import { NumberText, parseInput } from '../input.ts'
import { imageName } from '../launch.ts'
import { type GraphqlContext } from './context.ts'
import { readRole, tellDomain, tellGroup, tellKeypair, tellUser } from './tell.ts'

const Text = z.string().max(512)
const Slots = z.string().max(2_000)

const UserProps = z.object({
  username: Text.optional(),
  password: z.string().max(1_024).optional(),
  need_password_change: z.boolean().optional(),
  full_name: Text.optional(),
  description: z.string().max(2_000).optional(),
  is_active: z.boolean().optional(),
  status: Text.optional(),
  domain_name: Text.optional(),
  role: Text.optional(),
  group_ids: z.array(Text).max(200).optional(),
  resource_policy: Text.optional(),
})
const KeypairProps = z.object({
  is_active: z.boolean().optional(),
  is_admin: z.boolean().optional(),
  resource_policy: Text.optional(),
  rate_limit: z.number().int().optional(),
})
const GroupProps = z.object({
  name: Text.optional(),
  description: z.string().max(2_000).optional(),
  is_active: z.boolean().optional(),
  domain_name: Text.optional(),
  total_resource_slots: Slots.optional(),
  user_update_mode: z.enum(['add', 'remove']).optional(),
  user_uuids: z.array(Text).max(200).optional(),
})
const DomainProps = z.object({
  description: z.string().max(2_000).optional(),
  is_active: z.boolean().optional(),
  total_resource_slots: Slots.optional(),
  allowed_docker_registries: z.array(Text).max(100).optional(),
})

interface WithProps {
  readonly props: unknown
}

/** Resolvers of the changes. The original answers a refusal as `ok: false`, with the reason in `msg`. */
export const MUTATIONS = {
  create_user: answered(async ({ email, props }: WithProps & { email: string }, { calls: { api } }) => {
    const given = parseInput(UserProps, props)
    const user = await api.createUser({
      body: {
        email,
        name: given.full_name || given.username || email,
        password: given.password ?? '',
        role: roleOf(given.role ?? 'user'),
        ...defined({
          domain: given.domain_name,
          groups: given.group_ids,
          description: given.description,
          mustChangePassword: given.need_password_change,
          resourcePolicy: given.resource_policy,
        }),
      },
    })
    return { user: tellUser(user) }
  }),
  modify_user: answered(async ({ email, props }: WithProps & { email: string }, { calls: { api } }) => {
    const given = parseInput(UserProps, props)
    const { id } = await findUser(api, email)
    const active = given.is_active ?? (given.status === undefined ? undefined : given.status.toLowerCase() === 'active')
    const body: UserChange = defined({
      name: given.full_name ?? given.username,
      password: given.password,
      role: given.role === undefined ? undefined : roleOf(given.role),
      domain: given.domain_name,
      groups: given.group_ids,
      active,
      description: given.description,
      mustChangePassword: given.need_password_change,
      resourcePolicy: given.resource_policy,
    })
    return { user: tellUser(await api.updateUser({ params: { id }, body })) }
  }),
  /** Deactivates, as the original does. */
  delete_user: answered(async ({ email }: { email: string }, { calls: { api } }) => {
    const { id } = await findUser(api, email)
    await api.updateUser({ params: { id }, body: { active: false } })
    return {}
  }),

  create_keypair: answered(async ({ user_id, props }: WithProps & { user_id: string }, { calls: { api } }) => {
    const given = parseInput(KeypairProps, props)
    const { id, role } = await findUser(api, user_id)
    const body = defined({ resourcePolicy: given.resource_policy, rateLimit: given.rate_limit })
    const keypair = await api.createUserKeypair({ params: { id }, body })
    const msg = `${user_id} has to accept the keypair, and gets its secret key then: berth keypair accept ${keypair.accessKey}`
    return { msg, keypair: tellKeypair(keypair, { isAdmin: role !== 'user' }) }
  }),
  modify_keypair: answered(async ({ access_key, props }: WithProps & { access_key: string }, { calls: { api } }) => {
    const given = parseInput(KeypairProps, props)
    const body = defined({
      active: given.is_active,
      resourcePolicy: given.resource_policy,
      rateLimit: given.rate_limit,
    })
    await api.updateKeypair({ params: { accessKey: keyOf(access_key) }, body })
    return {}
  }),
  delete_keypair: answered(async ({ access_key }: { access_key: string }, { calls: { api } }) => {
    await api.deleteKeypair({ params: { accessKey: keyOf(access_key) } })
    return {}
  }),

  create_group: answered(async ({ name, props }: WithProps & { name: string }, { calls: { api } }) => {
    const given = parseInput(GroupProps, props)
    const group = await api.createGroup({
      body: {
        name,
        ...defined({
          domain: given.domain_name,
          description: given.description,
          active: given.is_active,
          limits: limitsOf(given.total_resource_slots),
        }),
      },
    })
    return { group: tellGroup(group, []) }
  }),
  modify_group: answered(async ({ gid, props }: WithProps & { gid: string }, { calls: { api } }) => {
    const given = parseInput(GroupProps, props)
    const id = GroupId.safeParse(gid)
    if (!id.success) throw new AppError('group_not_found')
    // All are read before the first is written: a wrong one changes nothing.
    const users = (given.user_uuids ?? []).map(readUserId)
    for (const userId of users) {
      const params = { id: id.data, userId }
      await (given.user_update_mode === 'remove' ? api.removeGroupMember({ params }) : api.addGroupMember({ params }))
    }
    const body = defined({
      name: given.name,
      description: given.description,
      active: given.is_active,
      limits: limitsOf(given.total_resource_slots),
    })
    if (Object.keys(body).length === 0) return {}
    return { group: tellGroup(await api.updateGroup({ params: { id: id.data }, body }), []) }
  }),

  create_domain: answered(async ({ name, props }: WithProps & { name: string }, { calls: { api } }) => {
    const domain = await api.createDomain({ body: { name, ...domainFields(parseInput(DomainProps, props)) } })
    return { domain: tellDomain(domain, []) }
  }),
  modify_domain: answered(async ({ name, props }: WithProps & { name: string }, { calls: { api } }) => {
    const domain = await api.updateDomain({ params: { name }, body: domainFields(parseInput(DomainProps, props)) })
    return { domain: tellDomain(domain, []) }
  }),

  alias_image: answered(async ({ alias, target }: { alias: string; target: string }, { calls: { api } }) => {
    await api.putImageAlias({ body: { alias, reference: imageName(target) } })
    return {}
  }),
  dealias_image: answered(async ({ alias }: { alias: string }, { calls: { api } }) => {
    await api.deleteImageAlias({ params: { alias } })
    return {}
  }),
  /** Clients follow the rescan at the events of tasks: the last one, if all registries are scanned. */
  rescan_images: answered(async ({ registry }: { registry?: string | null }, { calls: { api } }) => {
    const { items } = await api.listRegistries()
    const wanted = items.filter(({ name, url }) => registry == null || name === registry || url.includes(registry))
    if (wanted.length === 0) throw new AppError('registry_not_found')
    const tasks = await Promise.all(wanted.map(({ name }) => api.rescanRegistry({ params: { name } })))
    return { task_id: tasks.at(-1)?.id }
  }),
}

type Resolver<A> = (args: A, context: GraphqlContext) => Promise<Readonly<Record<string, unknown>>>

/** Turns the result of a change into the original's. Failures that are no refusals stay errors. */
function answered<A>(change: Resolver<A>): Resolver<A> {
  return async (args, context) => {
    try {
      return { ok: true, msg: 'success', ...(await change(args, context)) }
    } catch (error) {
      if (!isAppError(error) || error.code === 'internal' || error.code === 'unavailable') throw error
      return { ok: false, msg: error.message }
    }
  }
}

function roleOf(text: string) {
  const role = readRole(text)
  if (role) return role
  throw new AppError('bad_request', { why: 'role: must be user, admin or superadmin.' })
}

function readUserId(text: string): UserId {
  const id = UserId.safeParse(text)
  if (id.success) return id.data
  throw new AppError('user_not_found', { why: `user_uuids: "${text.slice(0, 64)}" is no id of a user.` })
}

function keyOf(text: string): AccessKey {
  const key = AccessKey.safeParse(text)
  if (key.success) return key.data
  throw new AppError('keypair_not_found')
}

function limitsOf(text: string | undefined) {
  if (text === undefined || text.trim() === '') return undefined
  try {
    return readSlots(z.record(z.string().max(64), NumberText).parse(JSON.parse(text)))
  } catch (error) {
    if (isAppError(error)) throw error
    throw new AppError('bad_request', { why: 'total_resource_slots: must be JSON such as {"cpu": "8", "mem": "32g"}.' })
  }
}

const domainFields = (given: z.output<typeof DomainProps>) =>
  defined({
    description: given.description,
    active: given.is_active,
    limits: limitsOf(given.total_resource_slots),
    allowedRegistries: given.allowed_docker_registries,
  })
