import { FileEntry } from '../storage/files.ts'
import { SessionFileListQuery, SessionFilePage, SessionPath } from '../sessions/session-files.ts'
import { z } from 'zod'
import { DomainName } from '../identity/domains.ts'
import { AccessKey } from '../identity/keypairs.ts'
import {
  Command,
  CommandId,
  CommandOutput,
  CommandResult,
  CommandSpec,
  CommandStream,
  LONGEST_WAIT_SECONDS,
} from '../sessions/commands.ts'
import { FolderMountSpec } from '../storage/folders.ts'
import { AgentId, FolderId, GroupId, SessionId, UserId } from '../ids.ts'
import { DateTime, PlainText, TextUpTo, TrimmedLines, TrimmedText } from '../plain-text.ts'
import { ResourceGroupName } from '../agents/resource-groups.ts'
import { SessionChange, SessionTag } from '../sessions/session-labels.ts'
import { ImagePush, ImageRequest, SessionImage, SessionImageSpec } from '../sessions/session-images.ts'
import { SessionShare, SessionShareSpec } from '../sessions/session-sharing.ts'
import {
  Priority,
  LogPart,
  Session,
  SessionDetails,
  SessionEvent,
  SessionEventSort,
  SessionRestart,
  SessionSort,
  SessionSpec,
  SessionStats,
  SessionStatus,
  SshAccess,
} from '../sessions/sessions.ts'
import { Task } from '../operation/tasks.ts'
import { Notice, WhatIf } from '../sessions/what-if.ts'
import { Page, pageOf, type RouteSpec } from './route-spec.ts'

const session = z.object({ id: SessionId })
const member = z.object({ id: SessionId, userId: UserId })
const command = z.object({ id: SessionId, commandId: CommandId })
const waitSeconds = z.coerce.number().int().min(0).max(LONGEST_WAIT_SECONDS).default(0)

/** Maximum number of sessions that one request may name; a client with more sends several requests. */
export const MOST_SESSION_IDS = 100
const MANY_IDS = `must be at most ${MOST_SESSION_IDS} session ids, separated by commas`

/** Sessions and their data. */
export const SESSION_ROUTES = {
  createSession: {
    method: 'POST',
    path: '/api/v1/sessions',
    access: 'user',
    idempotencyKey: true,
    summary: 'Launch one or more sessions.',
    body: SessionSpec,
    status: 201,
    reply: z.object({ items: z.array(Session), notices: z.array(Notice) }),
  },
  whatIf: {
    method: 'POST',
    path: '/api/v1/sessions/what-if',
    access: 'user',
    summary:
      'Check whether a request would start now, and if not, why, and which smaller request would. Creates nothing.',
    body: SessionSpec,
    reply: WhatIf,
  },
  listSessions: {
    method: 'GET',
    path: '/api/v1/sessions',
    access: 'user',
    summary:
      'List your own sessions and those shared with you, newest first unless `sort` says otherwise. An admin of a domain sees its sessions, a superadmin all.',
    query: Page.extend({
      status: TextUpTo(200)
        .optional()
        .describe(
          'Comma-separated statuses, or "live", "finished" or "failed": sessions that ended with an error, and batch jobs whose command failed.',
        )
        .refine(
          text =>
            !text ||
            ['live', 'finished', 'failed'].includes(text) ||
            text.split(',').every(s => SessionStatus.safeParse(s).success),
          'must be "live", "finished", "failed" or a list of statuses',
        ),
      ids: TextUpTo(MOST_SESSION_IDS * 37, MANY_IDS)
        .optional()
        .describe(
          `At most ${MOST_SESSION_IDS} comma-separated ids: the answer has the sessions that the caller may see, on one page.`,
        )
        .refine(text => {
          const ids = text?.split(',') ?? []
          return ids.length <= MOST_SESSION_IDS && ids.every(id => SessionId.safeParse(id).success)
        }, MANY_IDS),
      name: TextUpTo(64).optional(),
      tag: SessionTag.optional().describe('Only sessions with this tag.'),
      mine: z.stringbool().optional(),
      owner: UserId.optional(),
      domain: DomainName.optional(),
      group: GroupId.optional(),
      resourceGroup: ResourceGroupName.optional(),
      agent: AgentId.optional().describe('Only sessions with a container on this agent, now or at their end.'),
      accessKey: AccessKey.optional().describe(
        'Only sessions that were launched with this keypair. Users find their own.',
      ),
      sort: SessionSort.default('-created').describe(
        'Order, falling with a `-`; sessions with the same value by age. By `ended`, those that have not ended come last.',
      ),
      search: PlainText(254)
        .optional()
        .describe(
          'Part of the name, the image, the resource group or the e-mail address of the owner, in any letter case.',
        ),
    }),
    reply: pageOf(Session).extend({
      total: z.int().describe('Number of all matches; from 10,000 on, it may be some seconds old.'),
    }),
  },
  getSession: {
    method: 'GET',
    path: '/api/v1/sessions/:id',
    access: 'user',
    summary: 'One session, with the values of its variables for those who may use it.',
    params: session,
    reply: SessionDetails,
  },
  updateSession: {
    method: 'PATCH',
    path: '/api/v1/sessions/:id',
    access: 'user',
    summary: 'Change the tags and the note of a session of your own, or whether administrators may read its log.',
    params: session,
    body: SessionChange,
    reply: Session,
  },
  deleteSession: {
    method: 'DELETE',
    path: '/api/v1/sessions/:id',
    access: 'user',
    summary: 'Cancel a waiting session, or terminate a running one. Safe to repeat.',
    params: session,
    query: z.object({
      why: TrimmedText(200).optional().describe('Reason for the owner, beside who ended the session.'),
      force: z
        .stringbool()
        .optional()
        .describe(
          'For admins. Programs get no time to end; a session that is TERMINATING already ends in the records at once, and its containers are removed as soon as their agent answers.',
        ),
    }),
    status: 202,
    reply: Session,
  },
  extendSession: {
    method: 'POST',
    path: '/api/v1/sessions/:id/extend',
    access: 'user',
    idempotencyKey: true,
    summary: 'Postpone the end of a session: the idle time starts again, and the maximum lifetime grows.',
    params: session,
    body: z.strictObject({
      seconds: z
        .int()
        .min(60)
        .max(31_536_000)
        .optional()
        .describe(
          'Seconds by which the maximum lifetime grows. Default, if the maximum lifetime ends the session next: its initial value, as far as allowed.',
        ),
    }),
    reply: Session,
  },
  restartSession: {
    method: 'POST',
    path: '/api/v1/sessions/:id/restart',
    access: 'user',
    idempotencyKey: true,
    summary:
      'Start an ended session of your own again, with the same settings, on the same agent, with its files; with other folders if the body names them.',
    params: session,
    // The server reads null if no body was sent.
    body: SessionRestart.nullish(),
    status: 201,
    reply: Session.extend({ notices: z.array(Notice).optional().describe('Only if there are any.') }).meta({
      id: 'RestartedSession',
    }),
  },
  addSessionFolder: {
    method: 'POST',
    path: '/api/v1/sessions/:id/folders',
    access: 'user',
    summary:
      'Add a folder to a running session of your own, if `foldersFixed` is null. Safe to repeat. If the host does not answer, the folder stays `pending` and is added when it does.',
    params: session,
    body: FolderMountSpec,
    status: 201,
    reply: Session,
  },
  removeSessionFolder: {
    method: 'DELETE',
    path: '/api/v1/sessions/:id/folders/:folderId',
    access: 'user',
    summary: 'Take a folder that was added out of a running session of your own. Its files stay in the folder.',
    params: session.extend({ folderId: FolderId }),
    query: z.object({
      force: z
        .stringbool()
        .optional()
        .describe('Also while programs of the session use it: they keep only the files that they have open.'),
    }),
    reply: Session,
  },
  getSessionStats: {
    method: 'GET',
    path: '/api/v1/sessions/:id/stats',
    access: 'user',
    summary: 'Figures over time: the last 5 minutes by the second, the last 7 days by the minute.',
    params: session,
    query: z.object({
      from: DateTime().optional().describe('Default: an hour before `to`.'),
      to: DateTime().optional().describe('Default: now.'),
      step: z.coerce
        .number()
        .int()
        .min(1)
        .max(86_400)
        .optional()
        .describe(
          'Seconds per point. Default, also if the value is too small for the requested time: the smallest available.',
        ),
      kernel: TextUpTo(64).optional().describe('Role (sub1) or id of one container; default: the sum of all.'),
    }),
    reply: z.object({
      step: z.int().describe('Seconds per point.'),
      items: z
        .array(SessionStats)
        .describe(
          'Oldest first, at most 1,500. `at` is the beginning of the step; rates are means over the step, totals are the values at its end.',
        ),
    }),
  },
  setSessionPriority: {
    method: 'PUT',
    path: '/api/v1/sessions/:id/priority',
    access: 'user',
    summary:
      'Order of a waiting session in the queue: larger goes first. Owners may lower the priority, admins may raise it.',
    params: session,
    body: z.strictObject({ priority: Priority }),
    reply: Session,
  },
  listSessionEvents: {
    method: 'GET',
    path: '/api/v1/sessions/:id/events',
    access: 'user',
    summary: 'Timeline: every transition with its reason.',
    params: session,
    query: Page.extend({
      sort: SessionEventSort.default('at').describe('`at`: oldest first; `-at`: newest first.'),
    }),
    reply: pageOf(SessionEvent),
  },
  getSessionLogs: {
    method: 'GET',
    path: '/api/v1/sessions/:id/logs',
    access: 'user',
    summary: 'Log of one container: live while it runs, the kept tail afterwards.',
    params: session,
    query: z.object({
      tail: z.coerce.number().int().min(1).max(50_000).default(2000),
      kernel: TextUpTo(64).optional().describe('Role (sub1) or id of the container; default main1.'),
      timestamps: z
        .stringbool()
        .optional()
        .describe('While it runs: each line begins with the time at which it was written (RFC 3339, UTC) and a space.'),
    }),
    reply: z.object({ text: z.string(), truncated: z.boolean() }),
  },
  readSessionLog: {
    method: 'GET',
    path: '/api/v1/sessions/:id/log',
    access: 'user',
    summary:
      'Log of one container as far as it is kept, in parts of about a megabyte. While it runs: one part, with the last megabyte.',
    params: session,
    query: z.object({
      part: z.coerce
        .number()
        .int()
        .min(1)
        .max(1_000_000)
        .optional()
        .describe('`next` of the reply before; left out = the first part.'),
      kernel: TextUpTo(64).optional().describe('Role (sub1) or id of the container; default main1.'),
    }),
    reply: LogPart,
  },
  listSessionShares: {
    method: 'GET',
    path: '/api/v1/sessions/:id/shares',
    access: 'user',
    summary: 'Members of the project who may view or use the session. For its owner and admins.',
    params: session,
    reply: z.object({ items: z.array(SessionShare) }),
  },
  saveSession: {
    method: 'POST',
    path: '/api/v1/sessions/:id/image',
    access: 'user',
    summary:
      'Make an image of a running session of your own, or ask a superadmin for it. Home and folders are not part of it; every user may launch it, or those of the domains that may use the image of the session.',
    params: session,
    body: SessionImageSpec,
    status: 202,
    reply: SessionImage,
  },
  getSessionImage: {
    method: 'GET',
    path: '/api/v1/sessions/:id/image',
    access: 'user',
    summary: 'The request for an image of a session of your own, and the work on the newest image.',
    params: session,
    reply: SessionImage,
  },
  cancelSessionImage: {
    method: 'DELETE',
    path: '/api/v1/sessions/:id/image',
    access: 'user',
    summary: 'Withdraw the request for an image of a session, or cancel the work on it.',
    params: session,
    status: 204,
    reply: z.void(),
  },
  listImageRequests: {
    method: 'GET',
    path: '/api/v1/image-requests',
    access: 'superadmin',
    summary: 'List the requests for images of sessions, oldest first.',
    reply: z.object({ items: z.array(ImageRequest) }),
  },
  acceptImageRequest: {
    method: 'POST',
    path: '/api/v1/image-requests/:id/accept',
    access: 'superadmin',
    summary: 'Make the image that the owner of a session asks for, and push it to a registry if one is named.',
    params: z.object({ id: z.uuid() }),
    body: z.strictObject({ push: ImagePush.optional() }),
    status: 202,
    reply: Task,
  },
  declineImageRequest: {
    method: 'POST',
    path: '/api/v1/image-requests/:id/decline',
    access: 'superadmin',
    summary: 'Decline a request for an image of a session; its owner gets a message.',
    params: z.object({ id: z.uuid() }),
    body: z.strictObject({ reason: TrimmedLines(1000).default('') }),
    status: 204,
    reply: z.void(),
  },
  shareSession: {
    method: 'POST',
    path: '/api/v1/sessions/:id/shares',
    access: 'user',
    summary: 'Let a member of the project view or use a session of your own, or change what a member may do.',
    params: session,
    body: SessionShareSpec,
    status: 201,
    reply: SessionShare,
  },
  unshareSession: {
    method: 'DELETE',
    path: '/api/v1/sessions/:id/shares/:userId',
    access: 'user',
    summary:
      'Withdraw the access of a member; their terminals and connections end at once. For the owner, admins, and the member.',
    params: member,
    status: 204,
    reply: z.void(),
  },
  listSessionFiles: {
    method: 'GET',
    path: '/api/v1/sessions/:id/files',
    access: 'user',
    summary: 'Entries of a directory of a running session that you may use: of its home, if no path is given.',
    params: session,
    query: SessionFileListQuery,
    reply: SessionFilePage,
  },
  readSessionFile: {
    method: 'GET',
    path: '/api/v1/sessions/:id/content',
    access: 'user',
    summary:
      'Bytes of a file of a running session. Takes `Range`, `If-Range` and `If-None-Match`; HEAD answers the headers.',
    params: session,
    query: z.object({ path: SessionPath.min(1) }),
    reply: z.string(),
  },
  writeSessionFile: {
    method: 'PUT',
    path: '/api/v1/sessions/:id/content',
    access: 'user',
    summary:
      'Replace a file of a running session (`If-Match: ETAG`) or make one (`If-None-Match: *`) with the body (`application/octet-stream`, of any size, with `Content-Length`). Programs see the old or the new file.',
    params: session,
    query: z.object({ path: SessionPath.min(1) }),
    streamedBody: 'application/octet-stream',
    reply: FileEntry,
  },
  runCommand: {
    method: 'POST',
    path: '/api/v1/sessions/:id/commands',
    access: 'user',
    idempotencyKey: true,
    summary:
      'Run a command in a running session that you may use. It goes on when the answer has come, and ends with the session.',
    params: session,
    body: CommandSpec,
    status: 201,
    reply: CommandResult,
  },
  listCommands: {
    method: 'GET',
    path: '/api/v1/sessions/:id/commands',
    access: 'user',
    summary: 'Commands of a running session: those that run, and those that ended within the last ten minutes.',
    params: session,
    reply: z.object({ items: z.array(Command) }),
  },
  getCommand: {
    method: 'GET',
    path: '/api/v1/sessions/:id/commands/:commandId',
    access: 'user',
    summary: 'One command, with its output once it has ended.',
    params: command,
    query: z.object({ waitSeconds: waitSeconds.describe('Wait this long for the end, at most 50.') }),
    reply: CommandResult,
  },
  readCommandOutput: {
    method: 'GET',
    path: '/api/v1/sessions/:id/commands/:commandId/output',
    access: 'user',
    summary: 'A part of what a command has written, while it runs or afterwards.',
    params: command,
    query: z.object({
      stream: CommandStream.default('stdout'),
      offset: z.coerce
        .number()
        .int()
        .min(0)
        .max(Number.MAX_SAFE_INTEGER)
        .default(0)
        .describe('`next` of the answer before. Only the last megabyte of each stream is kept.'),
      encoding: z
        .enum(['utf8', 'base64'])
        .default('utf8')
        .describe('`utf8`: bytes that are not UTF-8 are U+FFFD; a character is never cut. `base64`: the bytes.'),
      waitSeconds: waitSeconds.describe('Wait this long for something to be there, at most 50.'),
    }),
    reply: CommandOutput,
  },
  endCommand: {
    method: 'DELETE',
    path: '/api/v1/sessions/:id/commands/:commandId',
    access: 'user',
    summary: 'Kill a command and everything that it has started. Safe to repeat.',
    params: command,
    reply: Command,
  },
  getSshAccess: {
    method: 'GET',
    path: '/api/v1/sessions/:id/ssh',
    access: 'user',
    summary: 'User, pinned host key and private key (id_container) of a session. Never cached.',
    params: session,
    reply: SshAccess,
  },
} as const satisfies Record<string, RouteSpec>
