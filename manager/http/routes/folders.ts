import { type Folders } from '../../folders/service.ts'
import { type Sharing } from '../../folders/sharing.ts'
import { type Handlers } from '../handlers.ts'

type FolderRoutes =
  | 'listStorageHosts'
  | 'listFolders'
  | 'createFolder'
  | 'updateFolder'
  | 'trashFolder'
  | 'restoreFolder'
  | 'deleteFolder'

export function createFolderRoutes(folders: Folders): Pick<Handlers, FolderRoutes> {
  return {
    listStorageHosts: ({ caller }) => folders.hosts(caller),
    listFolders: async ({ caller }, { query }) => ({ items: await folders.list(caller, query) }),
    createFolder: ({ caller }, { body }) => folders.create(caller, body),
    updateFolder: ({ caller }, { params, body }) => folders.update(caller, params.id, body),
    trashFolder: ({ caller }, { params }) => folders.trash(caller, params.id),
    restoreFolder: ({ caller }, { params }) => folders.restore(caller, params.id),
    deleteFolder: ({ caller }, { params }) => folders.remove(caller, params.id),
  }
}

type SharingRoutes =
  | 'listFolderShares'
  | 'inviteToFolder'
  | 'updateFolderInvitation'
  | 'deleteFolderInvitation'
  | 'updateFolderMember'
  | 'deleteFolderMember'
  | 'leaveFolder'
  | 'listFolderInvitations'
  | 'acceptFolderInvitation'
  | 'declineFolderInvitation'

export function createFolderSharingRoutes(sharing: Sharing): Pick<Handlers, SharingRoutes> {
  return {
    listFolderShares: ({ caller }, { params }) => sharing.list(caller, params.id),
    inviteToFolder: ({ caller }, { params, body }) => sharing.invite(caller, params.id, body),
    updateFolderInvitation: ({ caller }, { params, body }) =>
      sharing.updateInvitation(caller, params.id, params.invitationId, body.permission),
    deleteFolderInvitation: ({ caller }, { params }) => sharing.takeBack(caller, params.id, params.invitationId),
    updateFolderMember: ({ caller }, { params, body }) =>
      sharing.updateMember(caller, params.id, params.userId, body.permission),
    deleteFolderMember: ({ caller }, { params }) => sharing.removeMember(caller, params.id, params.userId),
    leaveFolder: ({ caller }, { params }) => sharing.leave(caller, params.id),
    listFolderInvitations: async ({ caller }) => ({ items: await sharing.received(caller) }),
    acceptFolderInvitation: ({ caller }, { params }) => sharing.accept(caller, params.id),
    declineFolderInvitation: ({ caller }, { params }) => sharing.decline(caller, params.id),
  }
}
