import { z } from 'zod'
import {
  FolderInvitation,
  FolderInvitationSpec,
  FolderMember,
  FolderPermissionChange,
  FolderShares,
  ReceivedFolderInvitation,
} from '../storage/folder-sharing.ts'
import { Folder } from '../storage/folders.ts'
import { FolderId, FolderInvitationId, UserId } from '../ids.ts'
import { type RouteSpec } from './route-spec.ts'

const folder = z.object({ id: FolderId })
const member = z.object({ id: FolderId, userId: UserId })
const sent = z.object({ id: FolderId, invitationId: FolderInvitationId })
const received = z.object({ id: FolderInvitationId })

/** Members of folders, and invitations to become one. */
export const FOLDER_SHARING_ROUTES = {
  listFolderShares: {
    method: 'GET',
    path: '/api/v1/folders/:id/shares',
    access: 'user',
    summary: 'Members and open invitations of a folder that the caller manages.',
    params: folder,
    reply: FolderShares,
  },
  inviteToFolder: {
    method: 'POST',
    path: '/api/v1/folders/:id/invitations',
    access: 'user',
    summary:
      'Invite the user of an e-mail address. Another invitation to the address replaces the first. The reply does not tell whether the address has an account.',
    params: folder,
    body: FolderInvitationSpec,
    status: 201,
    reply: FolderInvitation,
  },
  updateFolderInvitation: {
    method: 'PATCH',
    path: '/api/v1/folders/:id/invitations/:invitationId',
    access: 'user',
    summary: 'Change the permission that an open invitation gives.',
    params: sent,
    body: FolderPermissionChange,
    reply: FolderInvitation,
  },
  deleteFolderInvitation: {
    method: 'DELETE',
    path: '/api/v1/folders/:id/invitations/:invitationId',
    access: 'user',
    summary: 'Take back an open invitation.',
    params: sent,
    status: 204,
    reply: z.void(),
  },
  updateFolderMember: {
    method: 'PATCH',
    path: '/api/v1/folders/:id/members/:userId',
    access: 'user',
    summary:
      'Change what a member may do. Running sessions keep what they have mounted; waiting ones start with the new right.',
    params: member,
    body: FolderPermissionChange,
    reply: FolderMember,
  },
  deleteFolderMember: {
    method: 'DELETE',
    path: '/api/v1/folders/:id/members/:userId',
    access: 'user',
    summary:
      'Withdraw the access of a member. Running sessions of theirs keep the folder until they end; waiting ones do not start with it.',
    params: member,
    status: 204,
    reply: z.void(),
  },
  leaveFolder: {
    method: 'POST',
    path: '/api/v1/folders/:id/leave',
    access: 'user',
    summary: 'Give up the own membership of a folder of somebody else.',
    params: folder,
    status: 204,
    reply: z.void(),
  },
  listFolderInvitations: {
    method: 'GET',
    path: '/api/v1/folder-invitations',
    access: 'user',
    summary: 'Open invitations to the caller.',
    reply: z.object({ items: z.array(ReceivedFolderInvitation) }),
  },
  acceptFolderInvitation: {
    method: 'POST',
    path: '/api/v1/folder-invitations/:id/accept',
    access: 'user',
    summary: 'Become a member of the folder.',
    params: received,
    reply: Folder,
  },
  declineFolderInvitation: {
    method: 'POST',
    path: '/api/v1/folder-invitations/:id/decline',
    access: 'user',
    summary: 'Remove the invitation.',
    params: received,
    status: 204,
    reply: z.void(),
  },
} as const satisfies Record<string, RouteSpec>
