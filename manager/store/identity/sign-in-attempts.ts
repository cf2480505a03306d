import { type Selectable, sql } from 'kysely'
import { type Db } from '../schema.ts'
import { type SignInAttemptsTable } from '../tables/sign-in.ts'

export type SignInAttemptRow = Selectable<SignInAttemptsTable>

/** If the network has more open attempts than `most`, its oldest ones are deleted. @returns when the attempt expires */
export async function insertAttempt(
  db: Db,
  attempt: {
    readonly stateHash: Buffer
    readonly secretHash: Buffer
    /** Set at once for an attempt that needs no visit of a browser. */
    readonly codeHash?: Buffer
    readonly provider: string
    readonly sealed: string
    readonly lifetimeSeconds: number
    readonly network: string
    /** Open attempts of a network. */
    readonly most: number
  },
): Promise<Date> {
  const { stateHash, secretHash, codeHash = null, provider, sealed, lifetimeSeconds, network, most } = attempt
  const { expires_at } = await db
    .insertInto('sign_in_attempts')
    .values({
      state_hash: stateHash,
      secret_hash: secretHash,
      code_hash: codeHash,
      provider,
      sealed,
      network,
      expires_at: sql<Date>`now() + make_interval(secs => ${lifetimeSeconds})`,
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  await sql`
    delete from sign_in_attempts where state_hash in (
      select state_hash from sign_in_attempts where network = ${network} order by created_at desc offset ${most}
    )`.execute(db)
  return expires_at
}

/**
 * Takes the attempt of a state when the browser comes back. Only the first caller gets it, so a callback that is replayed
 * finds nothing. @param codeHash of the code that the browser gets
 */
export function takeState(db: Db, stateHash: Buffer, codeHash: Buffer): Promise<SignInAttemptRow | undefined> {
  return db
    .updateTable('sign_in_attempts')
    .set({ code_hash: codeHash })
    .where('state_hash', '=', stateHash)
    .where('code_hash', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .returningAll()
    .executeTakeFirst()
}

/** @param codeHash of what the client finishes with */
export async function sealOutcome(
  db: Db,
  stateHash: Buffer,
  { sealed, codeHash }: { readonly sealed: string; readonly codeHash: Buffer },
): Promise<void> {
  await db
    .updateTable('sign_in_attempts')
    .set({ sealed, code_hash: codeHash })
    .where('state_hash', '=', stateHash)
    .execute()
}

export interface AttemptProof {
  readonly codeHash: Buffer
  readonly secretHash: Buffer
}

export function findAttempt(db: Db, { codeHash, secretHash }: AttemptProof): Promise<SignInAttemptRow | undefined> {
  return db
    .selectFrom('sign_in_attempts')
    .selectAll()
    .where('code_hash', '=', codeHash)
    .where('secret_hash', '=', secretHash)
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
}

/** Consumes an attempt. @returns false if it was consumed already */
export async function deleteAttempt(trx: Db, stateHash: Buffer): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('sign_in_attempts')
    .where('state_hash', '=', stateHash)
    .executeTakeFirst()
  return numDeletedRows === 1n
}
