import { type z } from 'zod'
import { TextOf } from './plain-text.ts'
import { UUID } from '#base/shapes'

/** Branded: ids of different things do not mix. */
const id = TextOf(36, UUID, 'must be an id')

export const SessionId = id.brand<'SessionId'>()
export type SessionId = z.infer<typeof SessionId>
export const KernelId = id.brand<'KernelId'>()
export type KernelId = z.infer<typeof KernelId>
export const AgentId = id.brand<'AgentId'>()
export type AgentId = z.infer<typeof AgentId>
export const UserId = id.brand<'UserId'>()
export type UserId = z.infer<typeof UserId>
export const GroupId = id.brand<'GroupId'>()
export type GroupId = z.infer<typeof GroupId>
export const FolderId = id.brand<'FolderId'>()
export type FolderId = z.infer<typeof FolderId>
export const FolderInvitationId = id.brand<'FolderInvitationId'>()
export type FolderInvitationId = z.infer<typeof FolderInvitationId>
export const ManagerId = id.brand<'ManagerId'>()
export type ManagerId = z.infer<typeof ManagerId>
