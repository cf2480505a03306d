import { z } from 'zod'

/** Deeds of somebody else about a person's account, as the person is told them. */
export const TOLD_KINDS = [
  'keypair_made',
  'keypair_changed',
  'keypair_deactivated',
  'keypair_deleted',
  'password_set',
  'password_link',
  'password_ended',
  'role_changed',
  'domain_changed',
  'second_factor_off',
  'account_deactivated',
  'account_activated',
  'account_changed',
  'sign_ins_ended',
  'identities_unlinked',
  'projects_changed',
  'session_launched',
] as const
export const ToldKind = z.enum(TOLD_KINDS)
export type ToldKind = z.infer<typeof ToldKind>
