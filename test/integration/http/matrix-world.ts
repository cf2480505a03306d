import { expect, vi } from 'vitest'
import { type ApiClient, GroupId, type Role, type RouteName } from '#manager/contract'
import { apiOf } from '../../fixtures/manager.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'
import { ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** Roles of callers. */
export const WHO = ['anonymous', 'user', 'domain_admin', 'superadmin'] as const
export type Who = (typeof WHO)[number]
/** Owners of objects: the caller, somebody in the same domain, a superadmin there, somebody in another domain. */
export const RELATIONS = ['own', 'near', 'top', 'far'] as const
export type Relation = (typeof RELATIONS)[number]
export const KINDS = [
  'session',
  'user',
  'group',
  'keypair',
  'invitation',
  'signUpRequest',
  'folder',
  'folderInvitation',
  'login',
  'accessToken',
  'webhook',
  'scimToken',
] as const
export type Kind = (typeof KINDS)[number]

export interface Person {
  readonly id: string
  readonly token: string
  readonly api: ApiClient
  readonly email: string
}

/** A manager with people of every role in two domains, `red` and `blue`, each with a session, and with objects of theirs on demand. */
export interface MatrixWorld extends AsyncDisposable {
  readonly cluster: SessionsCluster
  /** All in the domain `red`. */
  readonly callers: Readonly<Record<Exclude<Who, 'anonymous'>, Person>>
  /** Owners of objects in the relations near, above and far. */
  readonly others: Readonly<Record<Exclude<Relation, 'own'>, Person>>
  /** The session of each of them. */
  readonly sessions: ReadonlyMap<Person, string>
  readonly groups: Readonly<Record<Relation, string>>
  ownerOf(who: Who, relation: Relation): Person
  /** ID of a real object; created for this one request if the request may consume it. */
  object(kind: Kind, who: Who, relation: Relation, name?: RouteName): Promise<string>
  /** ID of an upload that has begun. */
  upload(owner: Person, folderId: string): Promise<string>
  /** A second sign-in of the same user. */
  signIn(person: Pick<Person, 'email'>): Promise<Person>
}

export const PASSWORD = 'Their-own-pass-1'
/** Headers of a tus client. */
export const TUS = {
  'tus-resumable': '1.0.0',
  'upload-length': '3',
  'upload-offset': '0',
  'upload-metadata': 'path YQ==',
}

export async function startMatrixWorld(): Promise<MatrixWorld> {
  await using stack = new AsyncDisposableStack()
  const cluster = stack.use(await startSessionsCluster())
  const { join } = await cluster.manager.createJoinToken()
  const agent = stack.use(await new ScriptedAgent({ url: cluster.url, join }).connect())
  await vi.waitFor(async () => expect((await cluster.api.listImages()).items).not.toEqual([]), { timeout: 120_000 })
  await cluster.api.updateAgent({ params: { id: agent.id }, body: { schedulable: false } })
  for (const name of ['red', 'blue']) await cluster.api.createDomain({ body: { name } })

  async function signIn({ email }: Pick<Person, 'email'>): Promise<Person> {
    const { token, user } = await apiOf(cluster.url).login({ body: { email, password: PASSWORD, kind: 'token' } })
    if (token === null) throw new Error('no token')
    return { id: user.id, token, api: apiOf(cluster.url, token), email }
  }
  async function person(email: string, role: Role, domain: string): Promise<Person> {
    await cluster.api.createUser({
      body: { mustChangePassword: false, email, name: email, password: PASSWORD, role, domain },
    })
    return signIn({ email })
  }
  const callers = {
    user: await person('user@example.org', 'user', 'red'),
    domain_admin: await person('domain-admin@example.org', 'domain_admin', 'red'),
    superadmin: await person('superadmin@example.org', 'superadmin', 'red'),
  }
  const others = {
    near: await person('near@example.org', 'user', 'red'),
    top: await person('top@example.org', 'superadmin', 'red'),
    far: await person('far@example.org', 'user', 'blue'),
  }
  /** In the other domain, for an invitation of somebody there. */
  const neighbour = await person('neighbour@example.org', 'user', 'blue')

  const sessions = new Map<Person, string>()
  for (const one of [...Object.values(callers), ...Object.values(others)]) {
    const { items } = await one.api.createSession({ body: { image: 'berth/python:3.13' } })
    sessions.set(one, items[0]?.id ?? '')
  }
  const { items } = await cluster.api.listGroups()
  const groupOf = (domain: string) => items.find(group => group.domain === domain)?.id ?? ''
  const { id: near } = await cluster.api.createGroup({ body: { domain: 'red', name: 'others' } })
  const groups = { own: groupOf('red'), near, top: near, far: groupOf('blue') }

  const ownerOf = (who: Who, relation: Relation): Person =>
    relation === 'own' ? callers[who === 'anonymous' ? 'user' : who] : others[relation]
  const domainOf = (relation: Relation) => (relation === 'far' ? 'blue' : 'red')
  const newName = () => `gone-${crypto.randomUUID().slice(0, 8)}`

  /** Empty, so it is deleted if the caller may delete it. */
  async function newGroup(relation: Relation): Promise<string> {
    return (await cluster.api.createGroup({ body: { domain: domainOf(relation), name: newName() } })).id
  }

  /** Like the person of this relation, whose own sign-in is needed later. */
  async function newUser(relation: Exclude<Relation, 'own'>): Promise<string> {
    const email = `${newName()}@example.org`
    const body = { email, name: email, password: PASSWORD, domain: domainOf(relation) }
    return (
      await cluster.api.createUser({
        body: { mustChangePassword: false, ...body, role: relation === 'top' ? 'superadmin' : 'user' },
      })
    ).id
  }

  /** A SCIM token of this domain. A domain has few of them, so the one before is ended. */
  async function newScimToken(relation: Relation): Promise<string> {
    const domain = domainOf(relation)
    for (const one of (await cluster.api.listScimTokens()).items) {
      if (one.domain === domain) await cluster.api.deleteScimToken({ params: { id: one.id } })
    }
    return (await cluster.api.createScimToken({ body: { name: 'matrix', domain } })).id
  }

  /** A webhook of a project of this domain; its receiver does not exist. */
  async function newWebhook(relation: Relation): Promise<string> {
    const projectId = GroupId.parse(groups[relation])
    for (const { id } of (await cluster.api.listWebhooks({ query: { projectId } })).items) {
      await cluster.api.deleteWebhook({ params: { id } })
    }
    const body = { name: 'hook', url: 'https://hooks.invalid/', projectId, events: ['session.ended' as const] }
    return (await cluster.api.createWebhook({ body })).id
  }

  /** A request for an account in this domain; without mail it waits at once. */
  async function newSignUpRequest(domain: string): Promise<string> {
    await cluster.api.updateSettings({ body: { allowSignUp: 'request', signUpDomain: domain } })
    const email = `asks-${crypto.randomUUID()}@example.org`
    await cluster.api.requestSignUp({ body: { email, name: 'Asks' } })
    const find = async () => {
      const { items } = await cluster.api.listSignUpRequests({ query: { limit: 500 } })
      return items.find(one => one.email === email)?.id
    }
    return vi.waitUntil(find, { timeout: 120_000 })
  }

  async function newLogin(owner: Person): Promise<string> {
    const { items } = await (await signIn(owner)).api.listLogins()
    return items.find(({ isThis }) => isThis)?.id ?? ''
  }

  /** An open invitation to this person, by somebody of the same domain. */
  async function invitationTo(person: Person): Promise<string> {
    const { api } = person === others.near ? callers.user : person === others.far ? neighbour : others.near
    const folder = await api.createFolder({ body: { name: `shared-${crypto.randomUUID()}` } })
    return (await api.inviteToFolder({ params: { id: folder.id }, body: { email: person.email } })).id
  }

  const opened = stack.move()
  return {
    cluster,
    callers,
    others,
    sessions,
    groups,
    ownerOf,
    async object(kind, who, relation, name) {
      const owner = ownerOf(who, relation)
      switch (kind) {
        case 'session':
          return sessions.get(owner) ?? ''
        case 'user':
          return name === 'endUserLogins' && relation !== 'own' ? newUser(relation) : owner.id
        case 'group':
          return name === 'deleteGroup' ? newGroup(relation) : groups[relation]
        case 'keypair':
          return (await owner.api.createKeypair({ body: {} })).accessKey
        case 'folder':
          return (await owner.api.createFolder({ body: { name: `folder-${crypto.randomUUID()}` } })).id
        case 'folderInvitation':
          return invitationTo(owner)
        case 'login':
          return newLogin(owner)
        case 'accessToken':
          return (await owner.api.createAccessToken({ body: { name: 'program', scopes: ['read'], days: 1 } })).id
        case 'scimToken':
          return newScimToken(relation)
        case 'webhook':
          return newWebhook(relation)
        case 'signUpRequest':
          return newSignUpRequest(domainOf(relation))
        case 'invitation':
          return (await cluster.api.createInvitation({ body: { domain: domainOf(relation) } })).id
      }
    },
    async upload({ token }, folderId) {
      const headers = { authorization: `Bearer ${token}`, ...TUS }
      const reply = await rawRequest(`${cluster.url}/api/v1/folders/${folderId}/uploads`, { method: 'POST', headers })
      return String(reply.json?.id)
    },
    signIn,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
