import { shownCommand } from '#manager/contract'
import { type CommandsOfSessions } from '../../sessions/commands.ts'
import { type LifetimeService } from '../../sessions/lifetime/service.ts'
import { type LiveFolders } from '../../sessions/live-folders.ts'
import { type createSetPriority } from '../../sessions/priority.ts'
import { type ImageDefaultsService } from '../../sessions/image-defaults.ts'
import { type SessionImages } from '../../sessions/session-images.ts'
import { type SessionService } from '../../sessions/service.ts'
import { type SessionTemplates } from '../../sessions/templates.ts'
import { type SessionSharing } from '../../sessions/sharing.ts'
import { type Handlers } from '../handlers.ts'

type SessionRoutes =
  | 'createSession'
  | 'whatIf'
  | 'getFairShare'
  | 'listSessions'
  | 'getSession'
  | 'updateSession'
  | 'deleteSession'
  | 'extendSession'
  | 'restartSession'
  | 'addSessionFolder'
  | 'removeSessionFolder'
  | 'getSessionStats'
  | 'listSessionEvents'
  | 'getSessionLogs'
  | 'readSessionLog'
  | 'saveSession'
  | 'getSessionImage'
  | 'cancelSessionImage'
  | 'listImageRequests'
  | 'acceptImageRequest'
  | 'declineImageRequest'
  | 'listSessionShares'
  | 'shareSession'
  | 'unshareSession'
  | 'getSshAccess'
  | 'runCommand'
  | 'listCommands'
  | 'getCommand'
  | 'readCommandOutput'
  | 'endCommand'
  | 'setSessionPriority'
  | 'listSessionTemplates'
  | 'saveSessionTemplate'
  | 'deleteSessionTemplate'
  | 'setDefaultSessionTemplate'
  | 'listImageDefaults'
  | 'putImageDefaults'
  | 'deleteImageDefaults'

export function createSessionRoutes({
  sessions,
  liveFolders,
  lifetimes,
  setPriority,
  templates,
  imageDefaults,
  sharing,
  sessionImages,
  commands,
}: {
  sessions: SessionService
  liveFolders: LiveFolders
  lifetimes: LifetimeService
  setPriority: ReturnType<typeof createSetPriority>
  templates: SessionTemplates
  imageDefaults: ImageDefaultsService
  sharing: SessionSharing
  sessionImages: SessionImages
  commands: CommandsOfSessions
}): Pick<Handlers, SessionRoutes> {
  return {
    whatIf: ({ caller }, { body }) => sessions.whatIf(caller, body),
    getFairShare: ({ caller }, { params }) => sessions.fairShare(caller, params.name),
    createSession: ({ caller, keyed }, { body }) => sessions.create(caller, body, keyed),
    listSessions: ({ caller }, { query }) => sessions.list(caller, query),
    getSession: ({ caller }, { params }) => sessions.details(caller, params.id),
    updateSession: ({ caller }, { params, body }) => sessions.update(caller, params.id, body),
    deleteSession: ({ caller }, { params, query }) => sessions.terminate(caller, params.id, query),
    extendSession: ({ caller, keyed }, { params, body }) => lifetimes.extend(caller, params.id, body.seconds, keyed),
    restartSession: ({ caller, keyed }, { params, body }) => sessions.restart(caller, params.id, body ?? {}, keyed),
    addSessionFolder: ({ caller }, { params, body }) => liveFolders.add(caller, params.id, body),
    removeSessionFolder: ({ caller }, { params, query }) =>
      liveFolders.take(caller, params.id, params.folderId, query.force ?? false),
    getSessionStats: ({ caller }, { params, query }) => lifetimes.stats(caller, params.id, query),
    setSessionPriority: ({ caller }, { params, body }) => setPriority(caller, params.id, body.priority),
    listSessionEvents: ({ caller }, { params, query }) => sessions.events(caller, params.id, query),
    readSessionLog: ({ caller, signal }, { params, query }) => sessions.logPart(caller, params.id, query, signal),
    getSessionLogs: ({ caller, signal }, { params, query }) => sessions.logs(caller, params.id, query, signal),
    listSessionTemplates: async ({ caller }) => ({ items: await templates.list(caller) }),
    saveSessionTemplate: ({ caller }, { params, body }) => templates.save(caller, params.name, body),
    setDefaultSessionTemplate: ({ caller }, { params, body }) =>
      templates.setDefault(caller, params.name, body.isDefault),
    deleteSessionTemplate: ({ caller }, { params }) => templates.remove(caller, params.name),
    listImageDefaults: async ({ caller }) => ({ items: await imageDefaults.list(caller) }),
    putImageDefaults: ({ caller }, { body }) => imageDefaults.put(caller, body),
    deleteImageDefaults: ({ caller }, { query }) => imageDefaults.remove(caller, query.image),
    saveSession: ({ caller }, { params, body }) => sessionImages.ask(caller, params.id, body),
    getSessionImage: ({ caller }, { params }) => sessionImages.get(caller, params.id),
    cancelSessionImage: ({ caller }, { params }) => sessionImages.cancel(caller, params.id),
    listImageRequests: async () => ({ items: await sessionImages.list() }),
    acceptImageRequest: ({ caller }, { params, body }) => sessionImages.accept(caller, params.id, body.push),
    declineImageRequest: ({ caller }, { params, body }) => sessionImages.decline(caller, params.id, body.reason),
    listSessionShares: async ({ caller }, { params }) => ({ items: await sharing.list(caller, params.id) }),
    async shareSession({ caller, request }, { params, body }) {
      const share = await sharing.share(caller, params.id, body)
      request.outcome = { ...request.outcome, told: { userId: share.userId } }
      return share
    },
    unshareSession: ({ caller }, { params }) => sharing.unshare(caller, params.id, params.userId),
    async runCommand({ caller, keyed, signal, request }, { params, body }) {
      const result = await commands.run(caller, params.id, body, { keyed, signal })
      request.outcome = { ...request.outcome, told: { command: shownCommand(body.command), commandId: result.id } }
      return result
    },
    listCommands: async ({ caller }, { params }) => ({ items: await commands.list(caller, params.id) }),
    getCommand: ({ caller, signal }, { params, query }) => commands.get(caller, params, { ...query, signal }),
    readCommandOutput: ({ caller, signal }, { params, query }) => commands.output(caller, params, { ...query, signal }),
    endCommand: ({ caller }, { params }) => commands.end(caller, params),
    async getSshAccess({ caller, reply }, { params }) {
      void reply.header('cache-control', 'no-store')
      return sessions.sshAccess(caller, params.id)
    },
  }
}
