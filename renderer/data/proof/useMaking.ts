import { ref, shallowRef } from 'vue'
import { isAppError } from '#manager/contract'
import { useAction } from '../../ui/useAction.ts'
import { type OwnProof } from './useProof.ts'

type Get<T> = (proof: Partial<OwnProof>) => Promise<T>

/**
 * Makes something with which programs sign in later, such as an access key, and keeps its secret until the person has seen it. A sign-in
 * that is too old asks for the password first, and repeats the request.
 *
 * @param reload called after each request, whether it succeeds or not
 */
export function useMaking<T>(reload: () => Promise<unknown>) {
  const { busy, run } = useAction()
  const made = shallowRef<T | null>(null)
  const madeOpen = ref(false)
  const unproved = shallowRef<{ readonly label: string; readonly get: Get<T> } | null>(null)
  const proofOpen = ref(false)

  async function show(get: Promise<T>): Promise<void> {
    made.value = await get
    madeOpen.value = true
  }
  async function act(request: () => Promise<unknown>): Promise<void> {
    await run(async () => {
      await request()
      await reload()
    })
  }
  /** @param label of the button, which the question for the password repeats */
  const make = (label: string, get: Get<T>) =>
    act(async () => {
      try {
        await show(get({}))
      } catch (error) {
        if (!isAppError(error) || error.code !== 'proof_required' || error.detail.cause === 'prove_by_sign_in')
          throw error
        unproved.value = { label, get }
        proofOpen.value = true
      }
    })
  async function prove(proof: OwnProof): Promise<void> {
    if (unproved.value) await show(unproved.value.get(proof))
    await reload()
  }
  function forget(): void {
    madeOpen.value = false
    made.value = null
  }
  return { busy, made, madeOpen, unproved, proofOpen, act, make, prove, forget }
}
