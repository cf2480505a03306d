import { type GroupId, type UserId } from '#manager/contract'
import { type Default, type DefaultJson, type Time } from './columns.ts'

export interface ScimTokensTable {
  id: string
  domain: string
  name: string
  token_hash: Buffer
  /** Person whose rights are read whenever the token is used. */
  created_by: UserId
  created_at: Time
  last_used_at: Default<Date | null>
}

/** Names of an account, as clients of SCIM say them. */
export interface ScimUsersTable {
  user_id: UserId
  /** Domain in which the row counts. */
  domain: string
  user_name: string
  external_id: string | null
  attributes: DefaultJson<Readonly<Record<string, unknown>>>
  /** Deleted by SCIM: the account is inactive, and no client sees it. */
  hidden: Default<boolean>
  changed_at: Time
}

export interface ScimGroupsTable {
  group_id: GroupId
  domain: string
  /** Name of the group as the client says it; that of the project is derived from it, and may be changed. */
  display_name: string
  external_id: string | null
  hidden: Default<boolean>
  changed_at: Time
}
