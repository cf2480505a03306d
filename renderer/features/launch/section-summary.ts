import { parseDuration } from '#base/duration'
import { choiceText } from '#manager/contract'
import { namesIn } from '../../ui/allowed-names.ts'
import { formatList, formatSeconds, formatStart } from '../../ui/format.ts'
import { t as ofFolders } from '../../words/en/folders.ts'
import { amountText } from './amount-text.ts'
import { durationError, isBatch, isOverHosts, type GpuSlot, type LaunchForm, type LaunchLimits } from './launch-form.ts'
import { type SectionId } from './sections.ts'
import { startFault } from './start-time.ts'
import { t } from '../../words/en/launch.ts'

/** Largest number of names in a line; the others are counted. */
const MOST_NAMES = 3

export interface SectionFacts {
  /** Title of the image, distinct from those of other images. */
  readonly title: string | undefined
  readonly mounted: readonly string[]
  readonly gpu: GpuSlot | undefined
  /** Whether the containers may be placed on several hosts: such a session is not interrupted. */
  readonly overHosts: boolean
}

/** The choices of a section in one line, shown while it is folded. */
export function sectionSummary(id: SectionId, form: LaunchForm, facts: SectionFacts): string {
  const { title, mounted, gpu, overHosts } = facts
  switch (id) {
    case 'environment':
      return title ?? t('chooseEnvironment')
    case 'variables':
      return namesText(form.environ.map(({ name }) => name)) || t('none')
    case 'folders':
      return namesText(mounted) || ofFolders('mountNothingShort')
    case 'network':
      return networkText(form)
    case 'lifetime':
      return lifetimeText(form)
    case 'start':
      return startText(form, overHosts)
    case 'resources':
      return sizeText(form, gpu)
    case 'name':
      return form.name
  }
}

/** Where the containers of the session are, and that the resources are those of each; of one container, that there is only one. */
export function hostsText(form: LaunchForm, { slurm }: Pick<LaunchLimits, 'slurm'>): string {
  if (form.clusterSize <= 1) return t('containersOne')
  if (!isOverHosts(form)) return t('containersHint')
  return t(slurm ? 'containersApart' : 'containersSeveral')
}

function sizeText({ cpu, mem, gpu: gpus, gpuChoice, clusterSize }: LaunchForm, gpu: GpuSlot | undefined): string {
  const amounts = [['cpu', cpu], ['mem', mem], ...(gpu ? [[gpu, gpus] as const] : [])] as const
  const all = amounts.flatMap(([slot, amount]) => (amount > 0 ? [amountText(slot, amount)] : [])).join(' · ')
  const size = gpu && gpus > 0 && gpuChoice ? `${all} (${choiceText(gpuChoice)})` : all
  return clusterSize > 1 ? `${clusterSize} × ${size}` : size
}

function namesText(names: readonly string[]): string {
  const shown = names.filter(Boolean)
  const rest = shown.length - MOST_NAMES
  if (rest <= 0) return shown.join(', ')
  return t('namesAndMore', { names: shown.slice(0, MOST_NAMES).join(', '), count: rest })
}

export const networkText = ({ network, allowedNames }: LaunchForm) =>
  network === 'allowlist' ? namesText(namesIn(allowedNames)) || t('namesMissing') : t(`network_${network}`)

function lifetimeText(form: LaunchForm): string {
  const command = form.runImageCommand ? t('imageProgramShort') : firstLine(form.startupCommand)
  const kind = t(isBatch(form) ? 'batch' : 'interactive')
  const most = durationError(form.maxLifetime) === '' ? parseDuration(form.maxLifetime) : undefined
  const end =
    most === undefined ? (isBatch(form) ? '' : t('untilYouEnd')) : t('atMostFor', { time: formatSeconds(most) })
  return [kind, command, end].filter(Boolean).join(' · ')
}

const firstLine = (text: string) => text.trim().split('\n')[0] ?? ''

function startText({ dependsOn, priority, interruptible, startsAt }: LaunchForm, overHosts: boolean): string {
  const parts = [
    startsAt !== '' && startFault(startsAt) === '' && formatStart(new Date(startsAt), new Date()),
    dependsOn.length > 0 && t('afterCount', { count: dependsOn.length }),
    priority !== 0 && !Number.isNaN(priority) && t('withPriority', { priority }),
    interruptible && !overHosts && t('interruptibleShort'),
  ].filter(part => part !== false)
  return parts.length > 0 ? formatList(parts) : t('asSoonAsRoom')
}
