import { type RawBuilder, sql } from 'kysely'
import { accountHolds } from '../identity/users.ts'

/**
 * Whether the user of an upload may still write to its folder, by the rules of `permissionOf`, with an active account. The query must have
 * `uploads` as `up` and `folders` as `f`.
 */
export const UPLOADER_MAY_WRITE: RawBuilder<boolean> = sql<boolean>`exists (
  select from users w where w.id = up.user_id and ${accountHolds('w')} and (f.user_id = w.id
    or (f.permission <> 'ro' and exists (select from group_members g where g.group_id = f.group_id and g.user_id = w.id))
    or exists (select from folder_members m where m.folder_id = f.id and m.user_id = w.id and m.permission <> 'ro'
      and w.domain = coalesce(
        (select o.domain from users o where o.id = f.user_id), (select g.domain from groups g where g.id = f.group_id)))))`
