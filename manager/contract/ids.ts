import { z } from 'zod'

/** Lower-case UUIDs (version 7 where we make them, so that they sort by age). Branded: ids of different things do not mix. */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

const idOf = <Name extends string>() => z.string().regex(UUID, 'must be an id').brand<Name>()

export const SessionId = idOf<'SessionId'>()
export type SessionId = z.infer<typeof SessionId>
export const KernelId = idOf<'KernelId'>()
export type KernelId = z.infer<typeof KernelId>
export const AgentId = idOf<'AgentId'>()
export type AgentId = z.infer<typeof AgentId>
export const UserId = idOf<'UserId'>()
export type UserId = z.infer<typeof UserId>
export const GroupId = idOf<'GroupId'>()
export type GroupId = z.infer<typeof GroupId>
export const ManagerId = idOf<'ManagerId'>()
export type ManagerId = z.infer<typeof ManagerId>
