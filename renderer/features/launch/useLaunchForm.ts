import { computed, shallowRef, watch } from 'vue'
import { type Preset, type SessionSpec, type User } from '#manager/contract'
import { useAccount } from '../../data/account/useAccount.ts'
import { useFolders } from '../../data/folders/useFolders.ts'
import { useResources } from '../../data/sessions/useResources.ts'
import { useSessions } from '../../data/sessions/useSessions.ts'
import { firstFault } from './first-fault.ts'
import { titleAmong } from './image-order.ts'
import { limitsOf, toSpec, validate, type LaunchErrors, type LaunchLimits } from './launch-form.ts'
import { appToOpen } from './open-after.ts'
import { withOffer, type Offer } from './outlook.ts'
import { presetShown, withPreset } from './presets.ts'
import { useFilledForm } from './useFilledForm.ts'
import { useLaunchRequest } from './useLaunchRequest.ts'
import { fitSlurm } from './slurm-choice.ts'
import { usePrediction } from './usePrediction.ts'
import { t } from '../../words/en/launch.ts'

const isSame = (a: object, b: object) => JSON.stringify(a) === JSON.stringify(b)

/** The state of the launch dialog: form, limits, live errors, forecast, submit. */
export function useLaunchForm() {
  const account = useAccount()
  const resources = useResources()
  const sessions = useSessions()
  const folders = useFolders()

  /** The account for which an admin launches; null for oneself. */
  const owner = shallowRef<User | null>(null)
  const ownerId = computed(() => (owner.value ?? account.user)?.id)
  const taken = computed(
    () => new Set(sessions.live.filter(({ ownerId: id }) => id === ownerId.value).map(({ name }) => name)),
  )
  const { form, place, image, filled, repeats, imageDefaults, chooseImage, fill } = useFilledForm(owner, taken)
  watch(
    () => form.value.mem,
    mem => {
      if (form.value.shmem > mem) form.value.shmem = mem
    },
  )
  const request = useLaunchRequest(form)

  const imageTitle = computed(() => image.value && titleAmong(resources.images ?? [], image.value))
  const limits = computed<LaunchLimits>(() => {
    const { room, slurm } = place
    const { 'cuda.shares': _, ...whole } = room.value.largest
    // Slurm allocates whole GPUs only.
    const largest = slurm.value ? whole : room.value.largest
    return { ...limitsOf(image.value, largest, form.value.mem, room.value.left), slurm: slurm.value }
  })
  // Ordinary users may set at most 0; only administrators may go above it.
  const topPriority = computed(() => (account.user?.role === 'user' ? 0 : 10))
  // Returns the same object while no error changes, so that a key press does not re-render the parts that show errors.
  const errors = computed<LaunchErrors>(before => {
    const mountable = folders.mountable && new Set(folders.mountable.map(({ id }) => id))
    const context = { folders: mountable, limits: limits.value, images: resources.images ?? [], taken: taken.value }
    const now = { ...request.refused.value, ...validate(form.value, { ...context, topPriority: topPriority.value }) }
    const unknown = form.value.owner.trim() !== '' && owner.value === null ? { owner: t('ownerUnknown') } : {}
    const all = { ...unknown, ...now }
    return before && isSame(before, all) ? before : all
  })
  const { fault, prediction, asking, ready } = usePrediction({ form, limits, image, errors, place, filled })

  const presetContext = () => ({ limits: limits.value, image: image.value, room: place.room.value })
  function choosePreset(preset: Preset): void {
    form.value = withPreset(form.value, preset, presetContext())
  }
  function takeOffer(offer: Offer): void {
    form.value = withOffer(form.value, offer)
  }
  /** The preset whose amounts the fields show. */
  const preset = computed(() => presetShown(form.value, place.presets.value, presetContext()))

  /** The request in the form, for a template; null while the form has a mistake. */
  function specToKeep(): SessionSpec | null {
    const { name: _name, startsAt: _startsAt, ...others } = errors.value
    if (firstFault(others) !== null) return null
    return toSpec({ ...form.value, name: '', startsAt: '', owner: '' }, limits.value)
  }

  async function saveImageDefaults(): Promise<void> {
    const spec = specToKeep()
    if (spec) await imageDefaults.save(spec)
  }

  /** Sends the request. @returns true once the sessions exist */
  async function submit(): Promise<boolean> {
    if (!ready.value) return false
    // The next launch begins with these choices: it must not send what is not shown.
    form.value = fitSlurm(form.value, limits.value.slurm)
    return await request.send(toSpec(form.value, limits.value), appToOpen(form.value, image.value))
  }

  return {
    form,
    filled,
    repeats,
    place,
    limits,
    image,
    imageTitle,
    preset,
    errors,
    fault,
    topPriority,
    prediction,
    asking,
    busy: request.busy,
    failure: request.failure,
    ready,
    owner,
    ownerId,
    imageDefaults: { ...imageDefaults, save: saveImageDefaults },
    chooseImage,
    choosePreset,
    takeOffer,
    fill,
    specToKeep,
    submit,
  }
}
