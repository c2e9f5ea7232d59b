"""The report in a browser: it opens without an error, its tables sort, filter and search, and names are text."""

import json
import shutil

import pytest

import bayesanno as ba
from bayesanno.report.blocks import DPI
from bayesanno.report.plots.style import SMALLEST

LEGIBLE = 8.5  # pixels of the height of a line
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="chromium and chromedriver are not installed"),
]

EVIL = "<img src=x onerror=alert(1)>"
CLOSING = "</script><script>alert(2)</script>"
LABEL = "<b onmouseover=alert(3)>yes</b>"


@pytest.fixture(scope="module")
def browser():
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The report of sixty items, some of them with names that would do harm if they were read as HTML."""
    records, gold = [], {}
    for number in range(60):
        item = {7: EVIL, 8: CLOSING}.get(number, f"s{number:02d}")
        truth = LABEL if number % 3 else "no"
        gold[item] = truth
        for place, who in enumerate(("ada", EVIL, "cy")):
            wrong = number % 7 == place
            records.append((item, who, ("no" if truth == LABEL else LABEL) if wrong else truth))
    data = ba.AnnotationData.from_records(records, gold=gold)
    fit = ba.fit("one_coin", data, method="vb", random_seed=1, progressbar=False)
    return ba.write_report(fit, tmp_path_factory.mktemp("report") / "report.html", checks=False)


@pytest.fixture
def opened(browser, page):
    browser.get(page.as_uri())
    return browser


def rows(driver, table="item-table"):
    return driver.execute_script(
        "return [...document.querySelectorAll(`#${arguments[0]} tbody tr`)]"
        ".map(row => [...row.cells].map(cell => cell.textContent))",
        table,
    )


def column(driver, name, table="item-table"):
    heads = driver.execute_script(
        "return [...document.querySelectorAll(`#${arguments[0]} th button`)].map(one => one.textContent)", table
    )
    return heads.index(name)


def sort_by(driver, name, table="item-table"):
    from selenium.webdriver.common.by import By

    driver.find_elements(By.CSS_SELECTOR, f"#{table} th button")[column(driver, name, table)].click()


def test_the_page_opens_without_an_error_and_asks_the_network_for_nothing(opened):
    assert [entry for entry in opened.get_log("browser") if entry["level"] != "INFO"] == []
    assert opened.execute_script("return performance.getEntriesByType('resource').map(one => one.name)") == []
    assert opened.execute_script("return [...document.images].every(one => one.complete && one.naturalWidth > 0)")
    assert opened.execute_script("return [...document.images].every(one => one.alt)")
    questions = opened.execute_script("return [...document.querySelectorAll('h2')].map(one => one.textContent)")
    assert questions[0] == "What is the result, and what next?"
    targets = opened.execute_script(
        "return [...document.querySelectorAll('nav a')].map(one => !!document.querySelector(one.getAttribute('href')))"
    )
    assert len(targets) == len(questions)
    assert all(targets)


@pytest.fixture
def narrow(browser, page):
    """The page on the screen of a telephone."""
    telephone = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", telephone)
    browser.get(page.as_uri())
    yield browser
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_narrow_screen_shows_every_column(narrow):
    """Nothing is wider than the page but tables, and they scroll."""
    assert narrow.execute_script("return document.documentElement.scrollWidth") == 400
    outside = "[...document.querySelectorAll('main *')].filter(one => one.getBoundingClientRect().right > 400)"
    assert narrow.execute_script(f"return {outside}.every(one => one.closest('.wide'))")
    last = "one.querySelector('tr').lastElementChild.getBoundingClientRect().right"
    every = f"[...document.querySelectorAll('.wide')].every(one => (one.scrollLeft = 9999, {last} <= 400))"
    assert narrow.execute_script(f"return {every}")


def test_texts_of_figures_are_legible_on_a_narrow_screen(narrow):
    """A picture has pixels of its own, DPI an inch, in which its smallest text has a height; the page scales both."""
    scales = narrow.execute_script("return [...document.images].map(one => one.clientWidth / one.naturalWidth)")
    assert len(scales) > 2
    assert SMALLEST / 72 * DPI * min(scales) >= LEGIBLE


def test_names_from_data_are_text(opened):
    from selenium.common.exceptions import NoAlertPresentException
    from selenium.webdriver.common.by import By

    with pytest.raises(NoAlertPresentException):
        opened.switch_to.alert.text  # noqa: B018
    assert opened.execute_script("return document.querySelectorAll('img[onerror], [onmouseover]').length") == 0
    search = opened.find_element(By.CSS_SELECTOR, "#item-table input")
    search.send_keys("onerror")
    assert [row[0] for row in rows(opened)] == [EVIL]
    search.clear()
    search.send_keys("</script>")
    assert [row[0] for row in rows(opened)] == [CLOSING]
    assert LABEL in {row[1] for row in rows(opened)}
    assert EVIL in {row[0] for row in rows(opened, "annotator-table")}
    with pytest.raises(NoAlertPresentException):
        opened.switch_to.alert.text  # noqa: B018


def test_the_most_uncertain_items_come_first_and_other_columns_sort(opened):
    entropy = [float(row[column(opened, "entropy")]) for row in rows(opened)]
    assert len(entropy) == 25  # a page of sixty
    assert entropy == sorted(entropy, reverse=True)
    sort_by(opened, "item")
    names = [row[0] for row in rows(opened)]
    assert names == sorted(names)
    assert names[0] == CLOSING
    sort_by(opened, "item")
    assert rows(opened)[0][0] == "s59"
    sort_by(opened, "probability")
    shown = [float(row[column(opened, "probability")]) for row in rows(opened)]
    assert shown == sorted(shown, reverse=True)
    heads = opened.execute_script(
        "return [...document.querySelectorAll('#item-table th')].map(one => one.getAttribute('aria-sort'))"
    )
    assert heads.count("descending") == 1
    assert heads[column(opened, "probability")] == "descending"


def test_rows_are_filtered_searched_and_turned(opened):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select

    where = opened.find_element(By.CSS_SELECTOR, "#item-table .pages span")
    assert where.text == "1–25 of 60 items"
    seen = [row[0] for row in rows(opened)]
    opened.find_elements(By.CSS_SELECTOR, "#item-table .pages button")[1].click()
    seen += [row[0] for row in rows(opened)]
    opened.find_elements(By.CSS_SELECTOR, "#item-table .pages button")[1].click()
    assert where.text == "51–60 of 60 items"
    seen += [row[0] for row in rows(opened)]
    assert len(set(seen)) == 60
    Select(opened.find_element(By.CSS_SELECTOR, "#item-table select[aria-label=label]")).select_by_visible_text("no")
    assert {row[column(opened, "label")] for row in rows(opened)} == {"no"}
    found = int(where.text.split(" of ")[1].split()[0])
    data = json.loads(opened.find_element(By.CSS_SELECTOR, "#item-table script").get_attribute("textContent"))
    labels = next(one for one in data["columns"] if one["name"] == "label")
    assert found == labels["values"].count(labels["names"].index("no"))
    opened.find_element(By.CSS_SELECTOR, "#item-table input").send_keys("nothing is called that")
    assert rows(opened) == []
    assert where.text == "0 items (of 60)"
