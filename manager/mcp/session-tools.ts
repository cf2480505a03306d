import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { isFinished, LONGEST_WAIT_SECONDS, type Session, SessionId, SessionSpec } from '#manager/contract'
import { lastOf, ofSession, ShownCharacters } from './output.ts'
import { defineTool, READS, type Tool } from './tool.ts'

const POLL_MS = 1_000
const LONGEST_LIST = 100

const spec = SessionSpec.shape
const Launch = z.strictObject({
  ...{ name: spec.name, image: spec.image, environ: spec.environ, kind: spec.kind, gpu: spec.gpu },
  ...{ resourceGroup: spec.resourceGroup, group: spec.group, startupCommand: spec.startupCommand },
  ...{ idleTimeoutSeconds: spec.idleTimeoutSeconds, maxLifetimeSeconds: spec.maxLifetimeSeconds },
  ...{ dependsOn: spec.dependsOn, tags: spec.tags, note: spec.note, folders: spec.folders },
  ...{ startsAt: spec.startsAt, interruptible: spec.interruptible },
  resources: spec.resources.describe(
    'Of each session: `cpu` in cores ("2"), `mem` with a unit ("4g"), and `cuda.device` (whole GPUs, "1") or `cuda.shares` (a share of one, "0.5"). Raised to the minimum of the image.',
  ),
})
const OneSession = z.strictObject({ session: SessionId.describe('Id of the session.') })
const WaitSeconds = z.int().min(0).max(LONGEST_WAIT_SECONDS)

/** Tools for sessions. None of them returns variables of sessions, which may be secrets. */
export const SESSION_TOOLS: readonly Tool[] = [
  defineTool({
    name: 'list_sessions',
    title: 'List sessions',
    description:
      'Sessions that the owner of the token sees, newest first. The token can end and enter only those that it launched.',
    scope: 'read',
    hints: READS,
    input: z.strictObject({
      status: z.enum(['live', 'finished', 'failed']).default('live'),
      search: z.string().max(254).optional().describe('Part of the name or the image.'),
      limit: z.int().min(1).max(LONGEST_LIST).default(20),
    }),
    async run({ api, signal }, query) {
      const { items, total } = await api.listSessions({ query, signal })
      return { sessions: items.map(shownSession), total }
    },
  }),
  defineTool({
    name: 'get_session',
    title: 'Show a session',
    description:
      'Status of a session, why it waits or ended, its resources, folders, and the apps with which it can be opened.',
    scope: 'read',
    hints: READS,
    input: OneSession,
    run: async ({ api, signal }, { session: id }) => ({
      session: shownSession(await api.getSession({ params: { id }, signal })),
    }),
  }),
  defineTool({
    name: 'what_if',
    title: 'What would wait, and why',
    description:
      'Says whether a launch with this input would start now; if not, why, and which smaller request would. Launches nothing.',
    scope: 'read',
    hints: READS,
    input: Launch,
    run: async ({ api, signal }, body) => ({ ...(await api.whatIf({ body, signal })) }),
  }),
  defineTool({
    name: 'launch_session',
    title: 'Launch a session',
    description:
      'Launches one session, within the budget of the token. It may wait for resources: follow with wait_for_session, and end it with end_session when it is no longer needed.',
    scope: 'launch',
    hints: { readOnlyHint: false, destructiveHint: false },
    input: Launch,
    async run({ api, signal }, body) {
      const { items, notices } = await api.createSession({ body: { ...body, count: 1 }, signal })
      return { session: items[0] && shownSession(items[0]), notices: notices.map(({ message }) => message) }
    },
  }),
  defineTool({
    name: 'wait_for_session',
    title: 'Wait for a session',
    description: `Waits until a session runs or has ended (\`until\`), at most ${LONGEST_WAIT_SECONDS} seconds; then call it again. The answer has the session as it is then, with the reason for which it waits.`,
    scope: 'read',
    hints: READS,
    input: OneSession.extend({
      until: z.enum(['running', 'ended']).default('running'),
      seconds: WaitSeconds.default(LONGEST_WAIT_SECONDS),
    }),
    async run({ api, signal }, { session: id, until, seconds }) {
      const end = performance.now() + seconds * 1_000
      for (;;) {
        const session = await api.getSession({ params: { id }, signal })
        const reached = isFinished(session.status) || (until === 'running' && session.status === 'RUNNING')
        const left = end - performance.now()
        if (reached || left <= 0) return { reached, session: shownSession(session) }
        await delay(Math.min(POLL_MS, left), undefined, { signal })
      }
    },
  }),
  defineTool({
    name: 'end_session',
    title: 'End a session',
    description: 'Ends a session that this token launched. Files outside of mounted folders are gone.',
    scope: 'launch',
    hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
    input: OneSession,
    async run({ api, signal }, { session: id }) {
      await api.deleteSession({ params: { id }, signal })
      return { session: shownSession(await api.getSession({ params: { id }, signal })) }
    },
  }),
  defineTool({
    name: 'read_logs',
    title: 'Read the log of a session',
    description: 'The last lines that the program of a session wrote: live while it runs, the kept end afterwards.',
    scope: 'read',
    hints: READS,
    input: OneSession.extend({ lines: z.int().min(1).max(5_000).default(200), characters: ShownCharacters }),
    async run({ api, signal }, { session: id, lines, characters }) {
      const { text, truncated } = await api.getSessionLogs({ params: { id }, query: { tail: lines }, signal })
      const log = lastOf(text, characters)
      return ofSession({ log: log.text, truncated: truncated || log.truncated })
    },
  }),
  defineTool({
    name: 'free_gpus',
    title: 'Free GPUs',
    description:
      'Models of GPUs that sessions can get, how many there are and how many are free, and what the limits of the owner leave.',
    scope: 'read',
    hints: READS,
    input: z.strictObject({ resourceGroup: z.string().max(64).optional() }),
    async run({ api, signal }, query) {
      const { gpus, gpuLimits = [] } = await api.getResources({ query, signal })
      return { gpus, limits: gpuLimits }
    },
  }),
  defineTool({
    name: 'list_images',
    title: 'List images',
    description: 'Images that sessions can be launched from, with the least resources that each needs.',
    scope: 'read',
    hints: READS,
    input: z.strictObject({
      search: z.string().max(254).optional(),
      limit: z.int().min(1).max(LONGEST_LIST).default(50),
    }),
    async run({ api, signal }, query) {
      const { items } = await api.listImages({ query, signal })
      return {
        images: items.map(one => ({
          reference: one.reference,
          title: one.title,
          minimum: one.minimum,
          apps: one.apps.map(app => app.name),
        })),
      }
    },
  }),
]

/** A session as tools show it: no variables, which may be secrets, and no start-up command, which may hold some. */
function shownSession(session: Session) {
  const { id, status, reason, queuePosition, ends, createdAt, startedAt, endedAt, result } = session
  return {
    ...{ id, name: session.name, status, kind: session.kind, owner: session.ownerEmail, image: session.image },
    ...{ reason: reason.message, expectedBy: reason.expectedBy ?? null, queuePosition },
    ...{ resourceGroup: session.resourceGroup, resources: session.requested, tags: session.tags, note: session.note },
    folders: session.folders.map(one => ({ name: one.name, path: one.path, readOnly: one.readOnly })),
    apps: session.apps.map(one => ({
      name: one.name,
      title: one.title,
      protocol: one.protocol,
      path: one.path,
      open: `berth app ${session.name} ${one.name}`,
    })),
    ...{ createdAt, startedAt, endedAt, endsAt: ends?.at ?? null, result },
    exitCode: session.kernels[0]?.exitCode ?? null,
  }
}
