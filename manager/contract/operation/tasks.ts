import { z } from 'zod'
import { FailureText } from '../causes/fields.ts'
import { AgentId, FolderId, SessionId } from '../ids.ts'
import { PullProgress } from '../sessions/sessions.ts'

export const TaskId = z.uuid()

/** Progress of a rescan: the counts known so far. `problems` holds the first 100. */
export const RescanProgress = z
  .object({
    repositoriesDone: z.int(),
    repositoriesTotal: z.int(),
    tagsDone: z.int(),
    tagsTotal: z.int(),
    images: z.int().describe('Number of images found with labels of Berth or Backend.AI.'),
    unlabelled: z.int().describe('Number of images left out because they have no labels.'),
    removed: z.int().describe('Number of known images that are gone.'),
    problemsTotal: z.int(),
    problems: z.array(z.object({ reference: z.string(), why: z.string() })),
  })
  .meta({ id: 'RescanProgress' })
export type RescanProgress = z.infer<typeof RescanProgress>

export const AgentPull = z
  .object({
    agentId: AgentId,
    agentName: z.string(),
    status: z.enum(['waiting', 'pulling', 'pushing', 'done', 'failed', 'cancelled']),
    progress: PullProgress.nullable(),
    from: z.string().optional().describe('Name of the agent that gives the image; left out where a registry does.'),
    error: FailureText.nullable(),
  })
  .meta({ id: 'AgentPull' })
export type AgentPull = z.infer<typeof AgentPull>

/** Files and directories that a copy lacks. */
export const CopyLeftOut = z
  .object({
    paths: z.array(z.string()).describe('Some of them, below what is copied.'),
    total: z.int(),
  })
  .describe(
    'Pipes, sockets and devices, what Berth may not read, and directories that lie too deep. Left out if there are none.',
  )
  .meta({ id: 'CopyLeftOut' })
export type CopyLeftOut = z.infer<typeof CopyLeftOut>

/**
 * Long-running work: of an admin on images, a copy of files, or a backup. It reports its progress and can be cancelled; it ends when the manager that
 * runs it stops.
 */
export const Task = z
  .object({
    id: TaskId,
    kind: z.enum(['rescan', 'pull', 'copy', 'backup', 'save', 'build']),
    target: z.string().describe('Name of the registry, the folder or the backup, or reference of the image.'),
    status: z.enum(['running', 'done', 'failed', 'cancelled']),
    /** Cause of the failure or cancellation. */
    error: FailureText.nullable(),
    rescan: RescanProgress.nullable(),
    pull: z.array(AgentPull).nullable(),
    copy: z
      .object({ folderId: FolderId, files: z.int(), bytes: z.int(), leftOut: CopyLeftOut.optional() })
      .nullable()
      .describe('Files and bytes that were copied so far.'),
    backup: z.object({ rows: z.int() }).nullable().describe('Rows that were written so far.'),
    sessionId: SessionId.nullable().describe('The session that an image is made of; its progress is in `pull`.'),
    log: z.string().optional().describe('The end of the log of a build; left out for other tasks.'),
    startedBy: z.string(),
    createdAt: z.iso.datetime(),
    endedAt: z.iso.datetime().nullable(),
    version: z.int(),
  })
  .meta({ id: 'Task' })
export type Task = z.infer<typeof Task>
