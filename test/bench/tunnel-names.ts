import { AgentId, KernelId, SessionId, UserId } from '#manager/contract'

/** The one session of the bench. */
export const SESSION = SessionId.parse('01900000-0000-7000-8000-000000000001')
export const KERNEL = KernelId.parse('01900000-0000-7000-8000-000000000002')
export const AGENT = AgentId.parse('01900000-0000-7000-8000-000000000003')
export const OWNER = UserId.parse('01900000-0000-7000-8000-000000000004')
export const LOGIN = 'bench-login'
export const GRANT = 'bench-grant'
export const DATA_TOKEN = 'bench-data-token'
