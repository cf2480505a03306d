import { z } from 'zod'
import { parseJson } from '#base/parse-json'
import { AppError, because, cleanDiagnosis, Diagnosis, DIAGNOSIS_SECONDS, LogLines } from '#manager/contract'
import { type Cluster } from '../cluster/cluster.ts'
import { type Log } from '../log.ts'
import { newUuid } from '../store/new-id.ts'
import {
  answerDiagnosis,
  askForDiagnosis,
  deleteDiagnosis,
  listAskedDiagnoses,
  readDiagnosis,
} from '../store/operation/diagnoses.ts'
import { type Db } from '../store/schema.ts'

/** The result of a manager's own doctor. */
export interface OwnDiagnosis {
  readonly diagnosis: Diagnosis
  /** The last lines of its log, without secrets; empty unless requested. */
  readonly log: readonly string[]
}

export interface OtherManagers {
  /**
   * Lets another manager on this database run its `berth doctor`.
   *
   * @param managerId id of its process
   * @throws AppError `not_found` if it is not on the list, `unavailable` if it ends or does not answer in time, `internal` if its doctor
   *   fails
   */
  ask(managerId: string, options: { readonly withLog: boolean; readonly signal?: AbortSignal }): Promise<OwnDiagnosis>
}

export interface OtherManagersDeps {
  readonly db: Db
  readonly cluster: Pick<Cluster, 'processId' | 'peers' | 'onMembers'>
  /** Answers the other managers. */
  readonly own: (withLog: boolean) => Promise<OwnDiagnosis>
  readonly log: Log
  /** Time limit for a manager; only tests change it. */
  readonly withinMs?: number
}

/** Longer than the limit of the doctor there, so that its own report of a failure arrives. */
const WITHIN_MS = DIAGNOSIS_SECONDS * 1000

const Answer = z.object({ diagnosis: Diagnosis, log: LogLines })
/** A manager answers this if its doctor gave no result; its own log says why. */
const NO_RESULT = '{}'

/**
 * `berth doctor` of the other managers. Question and answer are rows: messages between managers are short and hold ids only. A message
 * wakes the manager that has to answer, and the one that waits; both check the rows again after messages were missed.
 */
export function createOtherManagers({ db, cluster, own, log, withinMs = WITHIN_MS }: OtherManagersDeps): OtherManagers {
  const { processId, peers } = cluster
  const asked = peers.topic<string>('diagnosis_asked')
  const answered = peers.topic<string>('diagnosis_answered')
  const waiting = new Map<string, () => void>()
  const inWork = new Set<string>()

  async function answerOne(id: string, withLog: boolean): Promise<void> {
    if (inWork.has(id)) return
    inWork.add(id)
    try {
      const answer = await own(withLog).then(JSON.stringify, (error: unknown) => {
        log.warn({ err: error }, 'the doctor that another manager asked for gave no result')
        return NO_RESULT
      })
      await answerDiagnosis(db, id, answer)
      answered.tell(id)
    } finally {
      inWork.delete(id)
    }
  }
  async function answerAll(): Promise<void> {
    const questions = await listAskedDiagnoses(db, processId)
    await Promise.all(questions.map(({ id, withLog }) => answerOne(id, withLog)))
  }
  const answerSoon = () =>
    void answerAll().catch((error: unknown) => log.warn({ err: error }, 'another manager got no diagnosis'))
  const wakeAll = () => waiting.forEach(wake => wake())

  asked.on(id => {
    if (id === processId) answerSoon()
  })
  answered.on(id => waiting.get(id)?.())
  peers.onGap(() => {
    answerSoon()
    wakeAll()
  })
  cluster.onMembers(wakeAll)

  async function answerTo(id: string, signal: AbortSignal): Promise<string> {
    signal.addEventListener('abort', () => waiting.get(id)?.())
    for (;;) {
      const woken = new Promise<void>(resolve => waiting.set(id, resolve))
      const found = await readDiagnosis(db, id)
      if (found?.answer != null) return found.answer
      if (!found?.runs || signal.aborted) throw new AppError('unavailable', because('manager_silent'))
      await woken
    }
  }

  return {
    async ask(managerId, { withLog, signal }) {
      const id = newUuid()
      if (!(await askForDiagnosis(db, { id, withLog }, managerId)))
        throw new AppError('not_found', because('manager_not_running'))
      const deadline = AbortSignal.timeout(withinMs)
      try {
        asked.tell(managerId)
        return readAnswer(await answerTo(id, signal ? AbortSignal.any([deadline, signal]) : deadline))
      } finally {
        waiting.delete(id)
        await deleteDiagnosis(db, id).catch((error: unknown) => log.debug({ err: error }, 'a diagnosis was left'))
      }
    },
  }
}

function readAnswer(text: string): OwnDiagnosis {
  const answer = Answer.safeParse(parseJson(text))
  if (!answer.success) throw new AppError('internal', because('doctor_no_result'))
  const { diagnosis, log } = answer.data
  return { diagnosis: cleanDiagnosis(diagnosis), log }
}
