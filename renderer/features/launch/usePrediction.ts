import { computed, type ComputedRef, type Ref } from 'vue'
import { type Image } from '#manager/contract'
import { firstFault } from './first-fault.ts'
import { forecast } from './forecast.ts'
import { freeOf } from './gpu-options.ts'
import { requestedSlots, toSpec, type LaunchErrors, type LaunchForm, type LaunchLimits } from './launch-form.ts'
import { outlookOf, scheduledFor, type Outlook } from './outlook.ts'
import { type useLaunchRoom } from './useLaunchRoom.ts'
import { useOutlook } from './useOutlook.ts'

/**
 * Predicts what happens to the request in the form: the page's own forecast until the manager has answered. A form with a fault has no
 * prediction, because it cannot be sent.
 *
 * @param filled false while the form shows nothing yet
 */
export function usePrediction({
  form,
  limits,
  image,
  errors,
  place,
  filled,
}: {
  form: Ref<LaunchForm>
  limits: ComputedRef<LaunchLimits>
  image: ComputedRef<Image | undefined>
  errors: ComputedRef<LaunchErrors>
  place: ReturnType<typeof useLaunchRoom>
  filled: Ref<boolean>
}) {
  /** Free amounts: of GPUs, only those that the form chooses. */
  const freeNow = computed(() => {
    const { free, gpus } = place.room.value
    const { gpuChoice } = form.value
    const slot = limits.value.gpu?.slot
    if (gpuChoice === null || slot === undefined || limits.value.slurm) return free
    return { ...free, [slot]: Math.min(free[slot] ?? 0, freeOf(gpuChoice, gpus, slot)) }
  })
  const guess = computed(() =>
    forecast({
      requested: requestedSlots(form.value, limits.value),
      count: form.value.count,
      resources: place.resources.value,
      largest: place.room.value.largest,
      free: freeNow.value,
      holders: image.value?.holders ?? 0,
    }),
  )
  /**
   * Ignores mistakes in fields that the what-if request does not contain: an unfinished name neither discards the answer nor sends another
   * request.
   */
  const canBeAsked = computed(() => {
    const { name: _name, count: _count, environ: _environ, ...others } = errors.value
    return firstFault(others) === null
  })
  const asked = useOutlook(
    () => {
      if (!filled.value || !place.ready.value || !canBeAsked.value) return null
      const { name: _, ...spec } = toSpec(form.value, limits.value)
      return { ...spec, count: 1, environ: {} }
    },
    () => place.resources.value,
    answer =>
      outlookOf(answer, {
        count: form.value.count,
        pulled: image.value?.holders === 0,
        gpu: limits.value.gpu?.slot,
      }),
  )
  const fault = computed(() => firstFault(errors.value))
  const prediction = computed<Outlook>(() => {
    if (fault.value) return { kind: 'unknown', text: '', offer: null }
    if (asked.outlook.value) return asked.outlook.value
    return form.value.startsAt === '' ? { ...guess.value, offer: null } : scheduledFor(form.value.startsAt)
  })
  const ready = computed(() => !fault.value && prediction.value.kind !== 'never')
  return { fault, prediction, asking: asked.pending, ready }
}
