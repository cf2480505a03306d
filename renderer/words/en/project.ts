export default {
  allProjects: 'All projects',
  allProjectsHint: 'Sessions of all your projects',
  projects: 'Projects',
  selector: 'Project: {name}',
  left: 'Left: {amounts}',
  noLimits: 'No limits',
  sessionsLeft: '{count, plural, one {# session} other {# sessions}}',
  noRunning: 'No running sessions in the project {name}',
  noFinished: 'No finished sessions in the project {name}',
  othersHave: 'The other projects have sessions. The project is chosen at the top of the page.',
  showAll: 'Show all projects',
} as const
