import { z } from 'zod'
import {
  Agent,
  AGENT_STATES,
  AgentChange,
  AgentSort,
  AgentSummary,
  DeviceMode,
  HostRemovalSpec,
  Resources,
  UnknownContainer,
} from '../agents/agents.ts'
import { AgentId, KernelId } from '../ids.ts'
import { PlainText, TextUpTo, TextOf } from '../plain-text.ts'
import { Page, pageOf, type RouteSpec } from './route-spec.ts'

const joinTokenId = z.object({ id: TextOf(64, /^[0-9a-f]{64}$/, 'must be the id of a join token') })

const JoinTokenInfo = z
  .object({
    id: z.string(),
    resourceGroup: z.string(),
    maker: z.string().nullable().describe('E-mail address; null for a token of the agent that Berth starts itself.'),
    replaces: z.string().nullable().describe('Name of the agent that the new one replaces.'),
    status: z
      .enum(['open', 'ended'])
      .describe('`ended`: its maker may not add hosts any more, or the sign-in or keypair has ended.'),
    createdAt: z.iso.datetime(),
    expiresAt: z.iso.datetime(),
  })
  .meta({ id: 'JoinTokenInfo' })

/** Agents and what they offer. */
export const AGENT_ROUTES = {
  getResources: {
    method: 'GET',
    path: '/api/v1/resources',
    access: 'user',
    summary: 'Capacity, use, the largest possible request, and what the limits leave to the caller.',
    query: z.object({
      resourceGroup: TextUpTo(64).optional().describe('Default: all resource groups that the caller may use.'),
      group: TextUpTo(64).optional().describe('Id or name of the group (project), whose limits count too.'),
      owner: TextUpTo(254).optional().describe('For admins: e-mail address or id of another user, whose limits count.'),
    }),
    reply: Resources,
  },
  listAgents: {
    method: 'GET',
    path: '/api/v1/agents',
    access: 'superadmin',
    summary: 'Agents with devices, capacity and use.',
    reply: z.object({ items: z.array(Agent) }),
  },
  listAgentSummaries: {
    method: 'GET',
    path: '/api/v1/agent-summaries',
    access: 'superadmin',
    summary:
      'Agents page by page, by name unless `sort` says otherwise: capacity, use and problems, without their devices.',
    query: Page.extend({
      state: z.enum(AGENT_STATES).optional().describe('Default: all but forgotten agents.'),
      resourceGroup: TextUpTo(64).optional(),
      problems: z.stringbool().optional().describe('Only agents with problems (true), or without (false).'),
      sort: AgentSort.optional().describe('Order, falling with a `-`; agents with the same value by age.'),
      search: PlainText(254)
        .optional()
        .describe('Part of the name, resource group, version or id, in any letter case.'),
    }),
    reply: pageOf(AgentSummary).extend({ total: z.int().describe('Number of all matches.') }),
  },
  getAgent: {
    method: 'GET',
    path: '/api/v1/agents/:id',
    access: 'superadmin',
    summary: 'One agent with devices, capacity and use; also one that was forgotten.',
    params: z.object({ id: AgentId }),
    reply: Agent,
  },
  createJoinToken: {
    method: 'POST',
    path: '/api/v1/agents/join-tokens',
    access: 'superadmin',
    idempotencyKey: true,
    summary:
      'A one-time token (15 minutes, as long as its maker is a superadmin and the sign-in or keypair is there) with which an agent joins, and the line that makes a computer a host.',
    body: z.strictObject({
      resourceGroup: TextUpTo(64).default('default'),
      prepare: z
        .boolean()
        .default(false)
        .describe('Begin to pack the program that the line fetches, which otherwise begins when the line is run.'),
      replaces: AgentId.optional().describe(
        'The agent to replace: its id, resource group and sessions stay, and its key is revoked.',
      ),
    }),
    status: 201,
    reply: z.object({
      id: z.string().describe('Names the token in `getJoinToken`; nobody can join with it.'),
      token: z.string(),
      join: z.string(),
      url: z.string().describe('Address at which the host must reach this manager.'),
      command: z.string().describe('Line for a shell on the host: installs an agent, its Node and toolbox, and joins.'),
      expiresAt: z.iso.datetime(),
    }),
  },
  getJoinToken: {
    method: 'GET',
    path: '/api/v1/join-tokens/:id',
    access: 'superadmin',
    summary: 'The agent that joined with a token.',
    params: joinTokenId,
    reply: z.object({
      expiresAt: z.iso.datetime(),
      agent: Agent.pick({ id: true, name: true, status: true }).nullable().describe('Null until an agent joins.'),
    }),
  },
  listJoinTokens: {
    method: 'GET',
    path: '/api/v1/join-tokens',
    access: 'superadmin',
    summary:
      'Tokens that no agent has used and that have not expired, newest first. Nobody can join with what is listed.',
    reply: z.object({ items: z.array(JoinTokenInfo).describe('At most 500.') }),
  },
  withdrawJoinToken: {
    method: 'DELETE',
    path: '/api/v1/join-tokens/:id',
    access: 'superadmin',
    summary: 'Withdraw a token that no agent has used.',
    params: joinTokenId,
    status: 204,
    reply: z.void(),
  },
  readHostScript: {
    method: 'GET',
    path: '/api/v1/host-setup/script',
    access: 'none',
    summary:
      'The shell script of the line, which needs `Authorization: Bearer` with the token of a join string. A refusal is a script too, which says why, with status 200.',
    reply: z.string(),
  },
  readHostBundle: {
    method: 'GET',
    path: '/api/v1/host-setup/bundles/:sha256',
    access: 'none',
    summary: 'What the script installs: agent, Node, npm packages and toolbox as .tar.gz. Needs the same token.',
    params: z.object({ sha256: TextOf(64, /^[0-9a-f]{64}$/, 'must be a SHA-256 in hexadecimal') }),
    reply: z.string(),
  },
  updateAgent: {
    method: 'PATCH',
    path: '/api/v1/agents/:id',
    access: 'superadmin',
    summary: 'Make an agent schedulable or not, or move it to another resource group.',
    params: z.object({ id: AgentId }),
    body: AgentChange,
    reply: Agent,
  },
  updateAgentProgram: {
    method: 'POST',
    path: '/api/v1/agents/:id/program-update',
    access: 'superadmin',
    summary:
      'Give an agent that the line has installed the program of the manager, next of all, also if people are connected to its sessions.',
    params: z.object({ id: AgentId }),
    reply: Agent,
  },
  removeAgent: {
    method: 'POST',
    path: '/api/v1/agents/:id/removal',
    access: 'superadmin',
    summary:
      'Let a host leave: no new sessions, then, once the ones on it have ended, Berth is removed from the host and the agent from the records.',
    params: z.object({ id: AgentId }),
    body: HostRemovalSpec,
    reply: Agent,
  },
  cancelAgentRemoval: {
    method: 'DELETE',
    path: '/api/v1/agents/:id/removal',
    access: 'superadmin',
    summary:
      'Call the removal of a host off, while sessions are on it or after it has refused. It stays in maintenance.',
    params: z.object({ id: AgentId }),
    reply: Agent,
  },
  setDeviceMode: {
    method: 'PATCH',
    path: '/api/v1/agents/:id/devices/:uuid',
    access: 'superadmin',
    summary: 'Set whether sessions get a GPU whole or in shares; only while no session uses it.',
    params: z.object({ id: AgentId, uuid: TextUpTo(128) }),
    body: z.strictObject({ mode: DeviceMode }),
    reply: Agent,
  },
  forgetAgent: {
    method: 'DELETE',
    path: '/api/v1/agents/:id',
    access: 'superadmin',
    summary: 'Revoke an agent. Sessions on it end as agent_forgotten.',
    params: z.object({ id: AgentId }),
    status: 204,
    reply: z.void(),
  },
  listUnknownContainers: {
    method: 'GET',
    path: '/api/v1/agents/:id/unknown-containers',
    access: 'superadmin',
    summary: 'Containers on an agent with labels of this Berth, but without its signature and without a record.',
    params: z.object({ id: AgentId }),
    reply: z.object({ items: z.array(UnknownContainer) }),
  },
  decideUnknownContainer: {
    method: 'POST',
    path: '/api/v1/agents/:id/unknown-containers/:kernelId',
    access: 'superadmin',
    summary: 'Import such a container as a session of the owner in its label, or remove it.',
    params: z.object({ id: AgentId, kernelId: KernelId }),
    body: z.strictObject({ action: z.enum(['import', 'remove']) }),
    status: 204,
    reply: z.void(),
  },
} as const satisfies Record<string, RouteSpec>
