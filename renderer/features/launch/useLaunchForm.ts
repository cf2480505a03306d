import { computed, ref, shallowRef, watch } from 'vue'
import { type Image, type Preset, type SessionSpec, type User } from '#manager/contract'
import { messageText } from '../../ui/cause-text.ts'
import { logError } from '../../ui/error-log.ts'
import { errorText, type ErrorText } from '../../ui/error-text.ts'
import { useNotifications } from '../../ui/useNotifications.ts'
import { useAccount } from '../../data/account/useAccount.ts'
import { chosenPlace } from '../../data/project/chosen-place.ts'
import { useFolders } from '../../data/folders/useFolders.ts'
import { useResources } from '../../data/sessions/useResources.ts'
import { useSessions } from '../../data/sessions/useSessions.ts'
import { firstFault } from './first-fault.ts'
import { forecast } from './forecast.ts'
import {
  applied,
  type AppliedDefaults,
  defaultsFor,
  defaultsOf,
  withDefaults,
  withoutDefaults,
} from './image-defaults.ts'
import { imageNamed } from './image-named.ts'
import { byUse, titleAmong } from './image-order.ts'
import {
  atMost,
  defaultForm,
  fitForm,
  formLike,
  limitsOf,
  requestedSlots,
  toSpec,
  validate,
  type LaunchErrors,
  type LaunchForm,
} from './launch-form.ts'
import { outlookOf, scheduledFor, withOffer, type Offer, type Outlook } from './outlook.ts'
import { presetHindrance, withPreset } from './presets.ts'
import { refusedFields } from './refused-fields.ts'
import { recall, remember } from './remembered.ts'
import { formOf } from './repeated.ts'
import { appToOpen } from './open-after.ts'
import { useImageDefaults } from './useImageDefaults.ts'
import { useLaunch } from '../../data/launch/useLaunch.ts'
import { useLaunchRoom } from './useLaunchRoom.ts'
import { useOpenAfter } from './useOpenAfter.ts'
import { useOutlook } from './useOutlook.ts'
import { useTemplates } from './useTemplates.ts'
import { t } from '../../words/en/launch.ts'

const isSame = (a: object, b: object) => JSON.stringify(a) === JSON.stringify(b)

/** The state of the launch dialog: form, limits, live errors, forecast, submit. */
export function useLaunchForm() {
  const account = useAccount()
  const launch = useLaunch()
  const notifications = useNotifications()
  const resources = useResources()
  const sessions = useSessions()
  const folders = useFolders()
  const openAfter = useOpenAfter()

  const last = recall(account.user?.id)
  const chosen = chosenPlace()
  const form = ref<LaunchForm>({
    ...defaultForm(undefined, {}),
    ...(last ? { project: last.project ?? '', resourceGroup: last.resourceGroup ?? '' } : {}),
    ...chosen,
    ...(launch.like ? formLike(launch.like) : {}),
    opens: last?.opens ?? '',
  })
  /** The account that an admin launches for; null for oneself. */
  const owner = shallowRef<User | null>(null)
  const place = useLaunchRoom(form, owner)
  const ownerId = computed(() => (owner.value ?? account.user)?.id)
  const filled = ref(false)
  const own = useImageDefaults()
  /** Changes that the defaults of the chosen image made to the form. */
  let ownApplied: AppliedDefaults | null = null
  /** Amounts that were chosen together with another project or resource group, whose room is not known yet. */
  let awaited: Partial<LaunchForm> = {}
  /** The template with which the form begins; undefined until that is known, null for none. */
  const preferred = shallowRef<SessionSpec | null | undefined>(launch.like ? null : undefined)
  const busy = ref(false)
  const failure = ref<ErrorText | null>(null)
  const refused = ref<LaunchErrors>({})

  const image = computed(() => imageNamed(resources.images, form.value.image))
  const imageTitle = computed(() => image.value && titleAmong(resources.images ?? [], image.value))
  const limits = computed(() => limitsOf(image.value, place.room.value.largest, form.value.mem, place.room.value.left))
  const taken = computed(
    () => new Set(sessions.live.filter(({ ownerId: id }) => id === ownerId.value).map(({ name }) => name)),
  )
  // Ordinary users may set at most 0; only administrators may go above it.
  const topPriority = computed(() => (account.user?.role === 'user' ? 0 : 10))
  // Returns the same object while no error changes, so that a key press re-renders none of the parts that show errors.
  const errors = computed<LaunchErrors>(before => {
    const mountable = folders.mountable && new Set(folders.mountable.map(({ id }) => id))
    const context = { folders: mountable, limits: limits.value, images: resources.images ?? [], taken: taken.value }
    const now = { ...refused.value, ...validate(form.value, { ...context, topPriority: topPriority.value }) }
    const unknown = form.value.owner.trim() !== '' && owner.value === null ? { owner: t('ownerUnknown') } : {}
    const all = { ...unknown, ...now }
    return before && isSame(before, all) ? before : all
  })
  const guess = computed(() =>
    forecast({
      requested: requestedSlots(form.value, limits.value),
      count: form.value.count,
      resources: place.resources.value,
      largest: place.room.value.largest,
      free: place.room.value.free,
      holders: image.value?.holders ?? 0,
    }),
  )
  /**
   * Ignores mistakes in fields that the what-if request does not contain: typing an unfinished name neither discards the answer
   * nor asks again.
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
  // The page's own forecast until the manager has answered. A form with a fault has no prediction, because it cannot be sent.
  const prediction = computed<Outlook>(() => {
    if (fault.value) return { kind: 'unknown', text: '', offer: null }
    if (asked.outlook.value) return asked.outlook.value
    return form.value.startsAt === '' ? { ...guess.value, offer: null } : scheduledFor(form.value.startsAt)
  })
  const ready = computed(() => !fault.value && prediction.value.kind !== 'never')

  // Fill the form once images and limits are first known. Later updates change nothing that was typed.
  watch(
    () => [resources.images, place.resources.value, place.ready.value, preferred.value] as const,
    ([images, known, placed, template]) => {
      if (filled.value || !images || !known || !placed || template === undefined) return
      filled.value = true
      if (template && imageNamed(images, template.image)) {
        fill({ ...formOf(template, folders.byId), ...chosen })
        return
      }
      const { largest, left } = place.room.value
      const wanted = launch.like?.image ?? last?.image
      const start = imageNamed(images, wanted) ?? images.toSorted(byUse)[0]
      const base = defaultForm(start, atMost(largest, left))
      const kept = launch.like
        ? formLike(launch.like)
        : last && last.image === start?.reference
          ? { ...last, count: 1 }
          : {}
      const { project, resourceGroup, opens } = form.value
      const wish = { ...base, ...kept, image: start?.reference ?? '', project, resourceGroup, opens }
      if (launch.like) form.value = fitForm(wish, start, largest, left)
      else beginWith(wish, start)
    },
    { immediate: true },
  )
  // Another project or resource group has other limits and other agents.
  watch(place.ready, ready => {
    if (!ready || !filled.value) return
    form.value = fitForm({ ...form.value, ...awaited }, image.value, place.room.value.largest, place.room.value.left)
    awaited = {}
  })
  watch(
    () => form.value.mem,
    mem => {
      if (form.value.shmem > mem) form.value.shmem = mem
    },
  )
  // An edit clears the refusals of the manager: the new values are not known to be wrong.
  watch(
    form,
    () => {
      if (Object.keys(refused.value).length > 0) refused.value = {}
    },
    { deep: true },
  )

  // A remembered folder may be gone since the last launch. In a copy of a session it stays, with its fault.
  watch(
    () => [folders.mountable, filled.value] as const,
    ([mountable, isFilled]) => {
      if (!mountable || !isFilled || launch.like) return
      const kept = stillMountable(form.value.folders)
      if (!isSame(kept, form.value.folders)) form.value.folders = kept
    },
    { immediate: true },
  )

  // A failure costs only the default: the form begins with the last launch then.
  watch(own.error, cause => cause !== null && logError(cause))
  const ownLoaded = own.load()
  if (preferred.value === undefined) {
    const { templates, load } = useTemplates()
    const settle = () => (preferred.value = templates.value?.find(({ isDefault }) => isDefault)?.spec ?? null)
    void Promise.all([load(), ownLoaded]).then(settle)
  }

  /** The choices whose folders the user can mount still, with their present names. */
  function stillMountable(choices: LaunchForm['folders']): LaunchForm['folders'] {
    return choices.flatMap(choice => {
      if (!folders.mountable) return [choice]
      const found = folders.mountable.find(({ id }) => id === choice.folder)
      return found ? [{ ...choice, name: found.name }] : []
    })
  }
  /** Fills the form with the wish, and with the user's own defaults for the image. */
  function beginWith(wish: LaunchForm, next: Image | undefined): void {
    const { largest, left } = place.room.value
    const before = fitForm(wish, next, largest, left)
    const defaults = defaultsFor(next, own.defaults.value ?? [])
    if (defaults) {
      const filledIn = withDefaults(before, defaults, folders.byId)
      form.value = fitForm({ ...filledIn, folders: stillMountable(filledIn.folders) }, next, largest, left)
    } else form.value = before
    ownApplied = defaults ? applied(before, form.value) : null
  }
  function chooseImage(reference: string): void {
    const next = resources.images?.find(candidate => candidate.reference === reference)
    beginWith({ ...(ownApplied ? withoutDefaults(form.value, ownApplied) : form.value), image: reference }, next)
  }
  /** The stored defaults for the chosen image, and ways to change them. */
  const imageDefaults = {
    stored: computed(() => defaultsFor(image.value, own.defaults.value ?? [])),
    async save(): Promise<void> {
      const spec = specToKeep()
      if (spec) await own.put(defaultsOf({ ...spec, image: imageDefaults.stored.value?.image ?? spec.image }))
    },
    async remove(): Promise<void> {
      if (imageDefaults.stored.value) await own.remove(imageDefaults.stored.value.image)
    },
  }

  const presetContext = () => ({ limits: limits.value, image: image.value, room: place.room.value })
  function choosePreset(preset: Preset): void {
    form.value = withPreset(form.value, preset, presetContext())
  }
  function takeOffer(offer: Offer): void {
    form.value = withOffer(form.value, offer)
  }
  /** The preset that the fields show. */
  const preset = computed(() => {
    const { cpu, mem, shmem, gpu } = form.value
    const same = place.presets.value.find(each => {
      const like = withPreset(form.value, each, presetContext())
      const chosen = like.cpu === cpu && like.mem === mem && like.shmem === shmem && like.gpu === gpu
      return chosen && presetHindrance(each, limits.value.gpu?.slot, place.room.value) === ''
    })
    return same?.name ?? null
  })

  /** Replaces the choices by those of an earlier launch or a template, as far as agents, limits and projects still allow them. */
  function fill(wish: LaunchForm): void {
    const next = imageNamed(resources.images, wish.image)
    const { project, resourceGroup } = form.value
    const places = {
      project: place.projects.value.some(({ id }) => id === wish.project) ? wish.project : project,
      resourceGroup: place.resourceGroups.value.some(({ name }) => name === wish.resourceGroup)
        ? wish.resourceGroup
        : resourceGroup,
    }
    // The name of a live session is taken: the copy gets one of its own.
    const name = taken.value.has(wish.name) ? '' : wish.name
    const filledIn = {
      ...wish,
      image: next?.reference ?? wish.image,
      ...places,
      name,
      owner: form.value.owner,
      opens: form.value.opens,
    }
    const stays = places.project === project && places.resourceGroup === resourceGroup
    const { cpu, mem, shmem, gpu } = wish
    awaited = stays ? {} : { cpu, mem, shmem, gpu }
    form.value = fitForm(filledIn, next, place.room.value.largest, place.room.value.left)
  }
  /** The request in the form for a template; null while it has a fault. */
  function specToKeep(): SessionSpec | null {
    const { name: _name, startsAt: _startsAt, ...others } = errors.value
    if (firstFault(others) !== null) return null
    return toSpec({ ...form.value, name: '', startsAt: '', owner: '' }, limits.value)
  }

  /** Sends the request. @returns true once the sessions exist */
  async function submit(): Promise<boolean> {
    if (busy.value || !ready.value) return false
    busy.value = true
    failure.value = null
    try {
      const { items, notices } = await sessions.launch(toSpec(form.value, limits.value))
      openAfter(items, appToOpen(form.value, image.value))
      if (form.value.owner === '') remember(account.user?.id, form.value)
      for (const notice of notices) notifications.info(messageText(notice))
      return true
    } catch (error) {
      refused.value = refusedFields(error)
      if (Object.keys(refused.value).length === 0) failure.value = errorText(error)
      return false
    } finally {
      busy.value = false
    }
  }

  return {
    form,
    filled,
    /** The form begins with the choices of an earlier launch. */
    repeats: launch.like !== null || last !== null,
    place,
    limits,
    image,
    imageTitle,
    preset,
    errors,
    fault,
    topPriority,
    prediction,
    asking: asked.pending,
    busy,
    failure,
    ready,
    owner,
    ownerId,
    imageDefaults,
    chooseImage,
    choosePreset,
    takeOffer,
    fill,
    specToKeep,
    submit,
  }
}
