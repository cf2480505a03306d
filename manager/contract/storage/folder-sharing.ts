import { z } from 'zod'
import { GroupRef } from '../identity/domains.ts'
import { FolderName, FolderPermission, Person } from './folders.ts'
import { FolderId, FolderInvitationId, UserId } from '../ids.ts'
import { Email } from '../identity/users.ts'

/** Largest number of members and open invitations of one folder together. */
export const MOST_SHARES = 100

/** A user who accepted an invitation to a folder. */
export const FolderMember = z
  .object({
    userId: UserId,
    email: z.string(),
    name: z.string(),
    permission: FolderPermission,
    joinedAt: z.iso.datetime(),
    sessions: z
      .int()
      .describe(
        'Number of their live sessions that mount the folder: without access, running ones keep it until they end, and waiting ones do not start.',
      ),
  })
  .meta({ id: 'FolderMember' })
export type FolderMember = z.infer<typeof FolderMember>

/** An invitation that is not accepted yet, as the inviting side sees it. */
export const FolderInvitation = z
  .object({
    id: FolderInvitationId,
    email: z.string(),
    permission: FolderPermission,
    createdAt: z.iso.datetime(),
    expiresAt: z.iso.datetime(),
    ended: z
      .boolean()
      .describe(
        'Whoever invited may not share the folder any more: it cannot be accepted. Another invitation to the address replaces it.',
      ),
  })
  .meta({ id: 'FolderInvitation' })
export type FolderInvitation = z.infer<typeof FolderInvitation>

export const FolderShares = z
  .object({ members: z.array(FolderMember), invitations: z.array(FolderInvitation) })
  .meta({ id: 'FolderShares' })
export type FolderShares = z.infer<typeof FolderShares>

export const FolderInvitationSpec = z
  .strictObject({
    email: Email,
    permission: FolderPermission.default('ro').describe('ro if left out.'),
  })
  .meta({ id: 'FolderInvitationSpec' })
export type FolderInvitationSpec = z.infer<typeof FolderInvitationSpec>

export const FolderPermissionChange = z
  .strictObject({ permission: FolderPermission })
  .meta({ id: 'FolderPermissionChange' })
export type FolderPermissionChange = z.infer<typeof FolderPermissionChange>

/** An invitation as the invited user sees it. */
export const ReceivedFolderInvitation = z
  .object({
    id: FolderInvitationId,
    folder: z.object({ id: FolderId, name: FolderName }),
    group: GroupRef.nullable().describe('The project that owns the folder; null for the folder of a user.'),
    from: Person,
    permission: FolderPermission,
    createdAt: z.iso.datetime(),
    expiresAt: z.iso.datetime(),
  })
  .meta({ id: 'ReceivedFolderInvitation' })
export type ReceivedFolderInvitation = z.infer<typeof ReceivedFolderInvitation>
