import type en from '../en/project.ts'
import { type Translation } from '../message-types.ts'

export default {
  allProjects: '모든 프로젝트',
  allProjectsHint: '내 모든 프로젝트의 세션',
  projects: '프로젝트',
  selector: '프로젝트: {name}',
  groups: '자원 그룹',
  anyGroup: '모든 자원 그룹',
  anyGroupHint: '마지막으로 시작한 그룹',
  groupSelector: '자원 그룹: {group}',
  bothSelector: '프로젝트: {name}, 자원 그룹: {group}',
  freeNow: '지금 남음: {amounts}',
  noHost: '연결된 호스트가 없습니다',
  left: '남음: {amounts}',
  noLimits: '한도 없음',
  sessionsLeft: '{count, plural, other {세션 #개}}',
  noRunning: '{name} 프로젝트에 실행 중인 세션이 없습니다',
  noFinished: '{name} 프로젝트에 종료된 세션이 없습니다',
  othersHave: '다른 프로젝트에는 세션이 있습니다. 프로젝트는 화면 위쪽에서 선택합니다.',
  showAll: '모든 프로젝트 보기',
} satisfies Translation<typeof en>
