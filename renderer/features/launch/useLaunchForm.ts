import { computed, ref, watch } from 'vue'
import { type Image } from '#manager/contract'
import { useServices } from '../../services.ts'
import { errorText, type ErrorText } from '../../ui/error-text.ts'
import { useNotifications } from '../../ui/useNotifications.ts'
import { useAccount } from '../account/useAccount.ts'
import { useResources } from '../sessions/useResources.ts'
import { useSessions } from '../sessions/useSessions.ts'
import { forecast } from './forecast.ts'
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
} from './launch-form.ts'
import { refusedFields } from './refused-fields.ts'
import { recall, remember } from './remembered.ts'
import { useLaunch } from './useLaunch.ts'

const mostApps = (a: Image, b: Image) => Number(b.labelled) - Number(a.labelled) || b.apps.length - a.apps.length

/** The state of the launch dialog: form, limits, live errors, forecast, submit. */
export function useLaunchForm() {
  const { api } = useServices()
  const account = useAccount()
  const launch = useLaunch()
  const notifications = useNotifications()
  const resources = useResources()
  const sessions = useSessions()

  const form = ref(launch.like ? formLike(launch.like) : defaultForm(undefined, {}))
  const filled = ref(false)
  const busy = ref(false)
  const failure = ref<ErrorText | null>(null)
  const refused = ref<LaunchErrors>({})

  const image = computed(() => resources.images?.find(({ reference }) => reference === form.value.image))
  const limits = computed(() => limitsOf(image.value, resources.largest, form.value.mem, resources.left))
  const taken = computed(
    () => new Set(sessions.live.filter(({ ownerId }) => ownerId === account.user?.id).map(({ name }) => name)),
  )
  const errors = computed<LaunchErrors>(() => ({
    ...refused.value,
    ...validate(form.value, { limits: limits.value, images: resources.images ?? [], taken: taken.value }),
  }))
  const prediction = computed(() =>
    forecast({
      requested: requestedSlots(form.value, limits.value),
      count: form.value.count,
      resources: resources.resources,
      largest: resources.largest,
      free: resources.free,
      holders: image.value?.agentIds.length ?? 0,
    }),
  )
  const ready = computed(() => Object.keys(errors.value).length === 0 && prediction.value.kind !== 'never')

  // The first time that images and limits are known, the form gets sensible values; later ones change nothing typed.
  watch(
    () => [resources.images, resources.resources] as const,
    ([images, known]) => {
      if (filled.value || !images || !known) return
      filled.value = true
      const last = recall()
      const wanted = launch.like?.image ?? last?.image
      const start = images.find(({ reference }) => reference === wanted) ?? images.toSorted(mostApps)[0]
      const base = defaultForm(start, atMost(resources.largest, resources.left))
      const kept = launch.like ? formLike(launch.like) : last && last.image === start?.reference ? last : {}
      const wish = { ...base, ...kept, image: start?.reference ?? '' }
      form.value = fitForm(wish, start, resources.largest, resources.left)
    },
    { immediate: true },
  )
  watch(
    () => form.value.mem,
    mem => {
      if (form.value.shmem > mem) form.value.shmem = mem
    },
  )
  // What the manager refused is no longer known to be wrong once it is changed.
  watch(
    form,
    () => {
      refused.value = {}
    },
    { deep: true },
  )

  function chooseImage(reference: string): void {
    const next = resources.images?.find(candidate => candidate.reference === reference)
    form.value = fitForm({ ...form.value, image: reference }, next, resources.largest, resources.left)
  }

  /** @returns true once the sessions exist */
  async function submit(): Promise<boolean> {
    if (busy.value || !ready.value) return false
    busy.value = true
    failure.value = null
    try {
      const { items, notices } = await api.createSession({ body: toSpec(form.value, limits.value) })
      remember(form.value)
      sessions.launched(items)
      for (const notice of notices) notifications.info(notice.message)
      return true
    } catch (error) {
      refused.value = refusedFields(error)
      if (Object.keys(refused.value).length === 0) failure.value = errorText(error)
      return false
    } finally {
      busy.value = false
    }
  }

  return { form, limits, image, errors, prediction, busy, failure, ready, chooseImage, submit }
}
