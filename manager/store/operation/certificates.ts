import { sql } from 'kysely'
import { type CertificateReport, type CertificateState, type ConsoleCertificate } from '#manager/contract'
import { type Db } from '../schema.ts'

/** A console that has not reported for this long counts as gone; `retention.ts` deletes its row. */
const GONE_HOURS = 24

/** Stores the report of a console. @returns the state in its previous report; undefined for the first */
export async function saveCertificate(
  db: Db,
  { console, report, state }: { console: string; report: CertificateReport; state: CertificateState },
): Promise<CertificateState | undefined> {
  return await db.transaction().execute(async trx => {
    const before = await trx
      .selectFrom('console_certificates')
      .select('state')
      .where('console', '=', console)
      .forUpdate()
      .executeTakeFirst()
    const row = { report: JSON.stringify(report), state, seen_at: sql<Date>`now()` }
    await trx
      .insertInto('console_certificates')
      .values({ console, ...row })
      .onConflict(conflict => conflict.column('console').doUpdateSet(row))
      .execute()
    return before?.state
  })
}

/** Ordered by the name of the console. */
export async function listCertificates(db: Db): Promise<ConsoleCertificate[]> {
  const rows = await db
    .selectFrom('console_certificates')
    .selectAll()
    .where('seen_at', '>', sql<Date>`now() - ${GONE_HOURS} * interval '1 hour'`)
    .orderBy('console')
    .execute()
  return rows.map(({ console, report, state, seen_at }) => ({
    console,
    ...report,
    state,
    seenAt: seen_at.toISOString(),
  }))
}
