import { sql } from 'kysely'
import { type Db } from '../schema.ts'

export interface AskedDiagnosis {
  readonly id: string
  readonly withLog: boolean
}

/** Requests a diagnosis from another manager process. @returns false if it is not on the list of managers */
export async function askForDiagnosis(db: Db, { id, withLog }: AskedDiagnosis, managerId: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    insert into diagnoses (id, manager_id, with_log)
    select ${id}, m.id, ${withLog} from managers m where m.id = ${managerId}`.execute(db)
  return numAffectedRows === 1n
}

/** Open requests for diagnoses of this manager, oldest first. */
export async function listAskedDiagnoses(db: Db, managerId: string): Promise<AskedDiagnosis[]> {
  return await db
    .selectFrom('diagnoses')
    .select(['id', 'with_log as withLog'])
    .where('manager_id', '=', managerId)
    .where('answer', 'is', null)
    .orderBy('asked_at')
    .execute()
}

export async function answerDiagnosis(db: Db, id: string, answer: string): Promise<void> {
  await db.updateTable('diagnoses').set({ answer }).where('id', '=', id).execute()
}

export interface DiagnosisState {
  /** Null until the manager has answered. */
  readonly answer: string | null
  /** Whether the requested manager is still on the list. */
  readonly runs: boolean
}

/** @returns undefined if the request was deleted */
export async function readDiagnosis(db: Db, id: string): Promise<DiagnosisState | undefined> {
  const { rows } = await sql<DiagnosisState>`
    select answer, exists (select from managers m where m.id = manager_id) as runs from diagnoses where id = ${id}`.execute(
    db,
  )
  return rows[0]
}

export async function deleteDiagnosis(db: Db, id: string): Promise<void> {
  await db.deleteFrom('diagnoses').where('id', '=', id).execute()
}
