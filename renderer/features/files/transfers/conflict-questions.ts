import { type ShallowRef, shallowRef } from 'vue'
import { nameOf } from '../../../data/files/file-path.ts'
import { type ConflictAnswer } from '../conflicts/conflicts.ts'
import { type TransferItem } from './transfer-item.ts'

/** A question about a file that exists at the destination. */
export interface UploadQuestion {
  readonly name: string
  readonly answer: (answer: ConflictAnswer | null) => void
}

/** Asks what to do about files that exist at the destination. */
export interface ConflictQuestions {
  /** The question that waits for its answer. */
  readonly question: ShallowRef<UploadQuestion | null>
  /** Asks one question at a time; an answer for all applies to the other files of the batch. */
  readonly decide: (item: TransferItem) => Promise<ConflictAnswer['choice'] | null>
}

export function createConflictQuestions(): ConflictQuestions {
  const question = shallowRef<UploadQuestion | null>(null)

  async function decide(item: TransferItem) {
    const { batch } = item
    const before = batch.asking
    const { promise, resolve } = Promise.withResolvers<null>()
    batch.asking = promise
    await before
    try {
      if (batch.onConflict !== null && batch.onConflict !== 'fail') return batch.onConflict
      const answer = await new Promise<ConflictAnswer | null>(settle => {
        question.value = {
          name: nameOf(item.path),
          answer(given) {
            question.value = null
            settle(given)
          },
        }
      })
      if (!answer) {
        // After a cancel, all files of the batch that need an answer are skipped.
        batch.onConflict = 'skip'
        return 'skip'
      }
      if (answer.forAll) batch.onConflict = answer.choice
      return answer.choice
    } finally {
      resolve(null)
    }
  }

  return { question, decide }
}
