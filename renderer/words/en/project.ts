import { defineWords } from '../i18n.ts'

const en = {
  allProjects: 'All projects',
  allProjectsHint: 'Sessions of all your projects',
  projects: 'Projects',
  selector: 'Project: {name}',
  groups: 'Resource groups',
  anyGroup: 'Any resource group',
  anyGroupHint: 'As in the last launch',
  groupSelector: 'Resource group: {group}',
  bothSelector: 'Project: {name}, resource group: {group}',
  freeNow: 'Free now: {amounts}',
  noHost: 'No host is connected',
  left: 'Left: {amounts}',
  noLimits: 'No limits',
  sessionsLeft: '{count, plural, one {# session} other {# sessions}}',
  noRunning: 'No running sessions in the project {name}',
  noFinished: 'No finished sessions in the project {name}',
  othersHave: 'The other projects have sessions. The project is chosen at the top of the page.',
  showAll: 'Show all projects',
} as const

export default en
export const t = defineWords('project', en)
